// SPDX-License-Identifier: MIT OR Apache-2.0
//! Problems without eigenpairs are refused; progress rises, and a solve is cancelled at any point of it.

use super::try_solve;
use crate::box_of_tets::Problem;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use thew::Mat3;
use thew::solve::NodeMatrix;
use thew::solve::eigen::{EigenError, EigenSettings, lowest_eigenpairs};
use thew::solve::matrix::zeros;

/// Problems that cannot be solved are refused.
#[test]
fn lowest_refuses_bad_input() {
    let problem = Problem::clamped_bar(4, 2);
    let n = problem.centres.len();
    let refused =
        |problem: &Problem, options: &EigenSettings| try_solve(problem, options).unwrap_err();
    let error = refused(&problem, &EigenSettings::new(3 * n + 1));
    assert_eq!(
        error,
        EigenError::TooMany {
            asked: 3 * n + 1,
            free: 3 * n
        }
    );
    assert!(error.to_string().contains(&format!("{}", 3 * n + 1)));
    assert!(error.to_string().contains(&format!("{}", 3 * n)));
    assert_eq!(refused(&problem, &EigenSettings::new(0)), EigenError::None);
    for tolerance in [0.0, -1.0, 1.0, f64::NAN] {
        let options = EigenSettings {
            tolerance,
            ..EigenSettings::new(3)
        };
        assert!(matches!(
            refused(&problem, &options),
            EigenError::Setting { .. }
        ));
    }
    let none = Problem {
        stiffness: zeros(0, []),
        mass: zeros(0, []),
        centres: Vec::new(),
    };
    assert_eq!(
        refused(&none, &EigenSettings::new(1)),
        EigenError::TooMany { asked: 1, free: 0 }
    );

    let changed = |change: &dyn Fn(&mut Problem)| {
        let mut problem = Problem::clamped_bar(4, 2);
        change(&mut problem);
        refused(&problem, &EigenSettings::new(3))
    };
    assert!(matches!(
        changed(&|p| {
            p.centres.pop();
        }),
        EigenError::Sizes { .. }
    ));
    assert!(matches!(
        changed(&|p| p.centres[7].y = f64::NAN),
        EigenError::NotFinite {
            what: "position",
            node: 7
        }
    ));
    assert!(matches!(
        changed(&|p| p.stiffness.data_mut()[0][(1, 1)] = f64::INFINITY),
        EigenError::NotFinite {
            what: "stiffness",
            node: 0
        }
    ));
    assert!(matches!(
        changed(&|p| p.mass.add(2, 2, f64::NAN)),
        EigenError::NotFinite {
            what: "mass",
            node: 2
        }
    ));
    assert!(matches!(
        changed(&|p| p.mass.add(3, 3, -1.0)),
        EigenError::Massless { node: 3, .. }
    ));
    let entry = problem.mass.data()[problem.mass.nnz_index(0, 1).unwrap().0];
    assert!(matches!(
        changed(&|p| {
            p.mass.add(0, 1, 100.0 * entry);
            p.mass.add(1, 0, 100.0 * entry);
        }),
        EigenError::Mass
    ));
    // A spring that pushes.
    assert!(matches!(
        changed(&|p| p.stiffness.add_pair(5, 5, &(Mat3::identity() * -1e6))),
        EigenError::Indefinite { .. } | EigenError::Negative { .. }
    ));
}

#[test]
fn progress_rises_and_cancels() {
    let problem = Problem::clamped_bar(20, 6);
    let seen = Mutex::new(Vec::new());
    let Problem {
        stiffness,
        mass,
        centres,
    } = &problem;
    let options = EigenSettings::new(12);
    let watch = |fraction: f64, _: &str| {
        seen.lock().unwrap().push(fraction);
        true
    };
    lowest_eigenpairs(stiffness, mass, centres, &options, &watch).unwrap();
    let steps = seen.into_inner().unwrap();
    assert!(steps.len() > 5 && steps.is_sorted() && *steps.last().unwrap() == 1.0);
    for limit in [0, 2, steps.len() / 2, steps.len() - 1] {
        let calls = AtomicUsize::new(0);
        let stop = |_: f64, _: &str| calls.fetch_add(1, Ordering::Relaxed) < limit;
        let cancelled = lowest_eigenpairs(stiffness, mass, centres, &options, &stop);
        assert!(matches!(cancelled, Err(EigenError::Cancelled(_))));
        assert_eq!(calls.into_inner(), limit + 1);
    }
}
