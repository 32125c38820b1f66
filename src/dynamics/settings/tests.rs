// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every row of the table reaches values, checks, text and digest, also a row added to a copy of the table.

use super::*;
use crate::body::fixture::BarOptions;
use crate::dynamics::default_damping;

impl SimulationSettings {
    /// Returns the default settings with the damping of a body of two metres, whatever the body.
    pub(crate) fn with_default_damping() -> Self {
        Self {
            mass_damping: Some(4.4),
            stiffness_damping: Some(0.004),
            ..Self::default()
        }
    }

    /// Returns the settings with another method.
    pub(crate) fn with_method(&self, method: Method) -> Self {
        Self {
            method,
            ..self.clone()
        }
    }
}

/// Returns a value of a setting in its range, other than its default.
fn other_value(field: &SettingField) -> Value {
    match (field.name, field.kind) {
        ("elastic_joints", _) => Value::Number(0.25),
        ("method", _) => Value::Name("modal".into()),
        ("solver", _) => Value::Name("cg".into()),
        ("form", _) => Value::Name("vertex".into()),
        ("precision", _) => Value::Name("f16".into()),
        ("adapt", _) => Value::Name("rigs".into()),
        ("engine", _) => Value::Name("gpu:7".into()),
        (_, Kind::Number | Kind::Optional) => Value::Number(3.5),
        (_, Kind::Vector) => Value::Vector([1.0, 2.0, 3.0]),
        (name, Kind::Name) => panic!("{name}: which of its names?"),
    }
}

/// Every setting appears in the values, in the text and in the digest.
#[test]
fn fields_reach_values_and_digest() {
    let usual = SimulationSettings::default();
    usual.check().unwrap();
    for (i, field) in SimulationSettings::FIELDS.iter().enumerate() {
        let mut settings = usual.clone();
        settings.set(field.name, other_value(field)).unwrap();
        settings.check().unwrap();
        for (j, (value, default)) in settings.values().iter().zip(usual.values()).enumerate() {
            assert_eq!(*value != default, i == j, "{}", field.name);
        }
        assert_eq!(settings.values()[i], other_value(field));
        assert_ne!(settings, usual);
        assert_ne!(settings.digest(), usual.digest(), "{}", field.name);
        let text = serde_json::to_string(&settings).unwrap();
        let again: SimulationSettings = serde_json::from_str(&text).unwrap();
        assert_eq!(again, settings, "{text}");
        assert!(!field.doc.trim().is_empty());
        assert_eq!(field.range.is_empty(), field.kind == Kind::Name);
    }
}

/// A value out of range is refused, and the error names the setting.
#[test]
fn set_refuses_out_of_range() {
    for field in SimulationSettings::FIELDS {
        let wrong = match field.kind {
            Kind::Number | Kind::Optional => Value::Number(-2.0),
            Kind::Vector => Value::Vector([0.0, f64::NAN, 0.0]),
            Kind::Name => Value::Name("nonsense".into()),
        };
        let mut settings = SimulationSettings::default();
        let refused = settings
            .set(field.name, wrong)
            .and_then(|()| settings.check());
        let sentence = refused.unwrap_err().to_string();
        assert!(sentence.contains(field.name), "{sentence}");
        let kind = settings.set(field.name, Value::Vector([0.0; 3])).is_err();
        assert_eq!(kind, field.kind != Kind::Vector);
    }
    let unknown = SimulationSettings::default().set("colour", Value::None);
    let sentence = unknown.unwrap_err().to_string();
    assert!(sentence.contains("'colour'") && sentence.contains("elastic_joints"));
}

/// Digests are the same on every machine and in every version, because the caches of users hold them.
#[test]
fn digest_is_stable() {
    // These digests are fixed: the caches of users hold them.
    let digest = |settings: &SimulationSettings| {
        let bytes = settings.digest().into_iter().map(|b| format!("{b:02x}"));
        bytes.collect::<String>()
    };
    assert_eq!(
        digest(&SimulationSettings::default()),
        "ac36a16423f823a02872b9a63932c5b9"
    );
    let mut zero = SimulationSettings {
        gravity: Vec3::zeros(),
        ..Default::default()
    };
    let plain = zero.digest();
    zero.gravity = -zero.gravity;
    assert_eq!(zero.digest(), plain, "-0 is 0");
}

/// A copy of the table with one more setting.
mod copy {
    use super::super::{EngineChoice, Method, Precision, Solver, WarpForm, table};
    use crate::Vec3;
    use crate::dynamics::SimulationError;

    const FORMER: usize = super::super::FORMER;

    table::settings! {
        /// A copy.
        pub struct Copy {
            /// A.
            method: Method = Method::Hyperelastic, "", |_| true, "";
            /// B.
            rate: f64 = 240.0, "1/s", |x| (1.0..=1e5).contains(&x), "between 1 and 100000 steps per second";
            /// C.
            gravity: Vec3 = Vec3::new(0.0, 0.0, -9.81), "m/s²", |x| x.abs() <= 1e6, "finite";
            /// D.
            mass_damping: Option<f64> = None, "1/s", |x| x >= 0.0, "zero or positive";
            /// E.
            stiffness_damping: Option<f64> = None, "s", |x| x >= 0.0, "zero or positive";
            /// F.
            max_offset: Option<f64> = None, "", |x| x > 0.0, "a positive part of the body's size";
            /// G.
            solver: Solver = Solver::Automatic, "", |_| true, "";
            /// H.
            elastic_joints: f64 = 1.0, "", |x| (0.0..=1.0).contains(&x), "between 0 (the plain skin) and 1";
            /// I.
            form: WarpForm = WarpForm::Embedded, "", |_| true, "";
            /// J.
            precision: Precision = Precision::F32, "", |_| true, "";
            /// K.
            engine: EngineChoice = EngineChoice::Auto, "", |_| true, "";
            /// The new one.
            drag: f64 = 0.0, "1/m", |x| x >= 0.0, "zero or positive";
        }
    }

    /// A new setting appears everywhere, and its default changes neither digests nor old files.
    #[test]
    fn new_field_keeps_digest() {
        use crate::dynamics::{SimulationSettings, Value};
        let (usual, mut new) = (Copy::default(), Copy::default());
        assert_eq!(usual.digest(), SimulationSettings::default().digest());
        assert!(usual.later().is_empty());
        new.set("drag", Value::Number(0.5)).unwrap();
        assert_eq!(new.later(), [("drag".to_owned(), Value::Number(0.5))]);
        assert_eq!(new.values().last(), Some(&Value::Number(0.5)));
        assert_ne!(new.digest(), usual.digest());
        assert!(
            serde_json::to_string(&new)
                .unwrap()
                .contains("\"drag\":0.5")
        );
        new.set("drag", Value::Number(-0.5)).unwrap();
        let refused = new.check().unwrap_err();
        assert!(matches!(
            refused,
            SimulationError::Setting { what: "drag", .. }
        ));
        // Text and files without it have its default. The copy knows the rows above alone, not those added since.
        let known = serde_json::to_value(&usual).unwrap();
        let mut former = serde_json::to_value(SimulationSettings::default()).unwrap();
        let rows = former.as_object_mut().unwrap();
        rows.retain(|name, _| name != "drag" && known.get(name).is_some());
        assert_eq!(serde_json::from_value::<Copy>(former).unwrap(), usual);
    }
}

/// Damping that is not set takes the default of the body.
#[test]
fn damping_defaults_to_body() {
    let body = BarOptions::default().build();
    let (mass, stiffness) = default_damping(&body).unwrap();
    let half = SimulationSettings {
        stiffness_damping: Some(0.5),
        ..Default::default()
    };
    let filled = half.for_body(&body).unwrap();
    assert_eq!(filled.damping(), (mass, 0.5));
    let all = SimulationSettings::default().for_body(&body).unwrap();
    assert_eq!(all.damping(), (mass, stiffness));
}
