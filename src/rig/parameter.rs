// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table of a rig's parameters: names and texts of templates and guides, and the meaning of each of their numbers.
//!
//! Every interface reads this table: files, Python, the sliders of the Blender extension.

/// Kind of a parameter, which determines its unit and its usual changes and bounds in fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParameterKind {
    /// A radius: a positive length.
    Radius,
    /// An outward length, zero or more.
    Distance,
    /// A signed length.
    Offset,
    /// A share of a bone's length.
    Share,
    /// An angle.
    Angle,
    /// The largest force per volume.
    Strength,
    /// A share of a whole effect.
    Factor,
}

impl ParameterKind {
    /// Returns the SI unit: `m`, `rad`, `N/m³`, or nothing for a share or a factor.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Radius | Self::Distance | Self::Offset => "m",
            Self::Share | Self::Factor => "",
            Self::Angle => "rad",
            Self::Strength => "N/m³",
        }
    }

    /// Returns the kind's name in the interface.
    pub fn name(self) -> &'static str {
        match self {
            Self::Radius => "radius",
            Self::Distance => "distance",
            Self::Offset => "offset",
            Self::Share => "share",
            Self::Angle => "angle",
            Self::Strength => "strength",
            Self::Factor => "factor",
        }
    }
}

/// One continuous parameter of a template or a guide.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameter {
    /// Name in code and files.
    pub name: &'static str,
    /// Kind.
    pub kind: ParameterKind,
    /// Name on a slider.
    pub label: &'static str,
    /// Meaning, without a full stop.
    pub doc: &'static str,
    /// Value of a new rig, in the kind's unit.
    pub default: f64,
    /// Ends of a slider, in the kind's unit. Values beyond are valid.
    pub range: (f64, f64),
}

/// One kind of template or guide.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spec {
    /// Name in code and files.
    pub name: &'static str,
    /// Name in a menu.
    pub label: &'static str,
    /// Effect and use, without a full stop.
    pub doc: &'static str,
    /// Blender's name of an icon.
    pub icon: &'static str,
    /// Parameters in order.
    pub parameters: &'static [Parameter],
}

impl Spec {
    /// Returns the names of the parameters, in order.
    pub fn parameter_names(&self) -> Vec<&'static str> {
        self.parameters.iter().map(|p| p.name).collect()
    }

    /// Returns the kind of each parameter.
    pub fn parameter_kinds(&self) -> Vec<ParameterKind> {
        self.parameters.iter().map(|p| p.kind).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::rig::{Guide, MuscleRig, ParameterKind, TemplateKind};
    use std::collections::BTreeMap;

    /// Parameters of one name have one specification, whose range, default and unit fit its kind.
    #[test]
    fn parameter_specs_are_consistent() {
        let templates = TemplateKind::ALL.iter().map(|kind| kind.spec());
        let mut known = BTreeMap::new();
        for spec in templates.chain(&Guide::SPECS).chain([MuscleRig::spec()]) {
            for p in spec.parameters {
                assert_eq!(known.entry(p.name).or_insert(p), &p);
                let (lower, upper) = p.range;
                assert!(lower <= p.default && p.default <= upper && lower < upper);
                assert_eq!(p.name.ends_with("radius"), p.kind == ParameterKind::Radius);
                assert_eq!(p.name == "strength", p.kind.unit() == "N/m³");
                let last = p.name.rsplit('_').next().unwrap_or_default();
                let turns = ["angle", "tilt", "roll", "rx", "ry", "rz"].contains(&last);
                assert_eq!(turns, p.kind.unit() == "rad");
                assert!(p.kind != ParameterKind::Radius || p.default > 0.0);
            }
            for text in [spec.doc, spec.label]
                .into_iter()
                .chain(spec.parameters.iter().flat_map(|p| [p.doc, p.label]))
            {
                assert!(!text.is_empty() && !text.ends_with('.'), "{text}");
            }
        }
    }
}
