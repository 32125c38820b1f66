// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kinds of parameters, which determine the unit and the usual changes and bounds in fits.

/// Kind of a template's or guide's parameter.
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
}

impl ParameterKind {
    /// Returns the SI unit: `m`, `rad`, `N/m³`, or nothing for a share.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Radius | Self::Distance | Self::Offset => "m",
            Self::Share => "",
            Self::Angle => "rad",
            Self::Strength => "N/m³",
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::rig::{BoneRef, Guide, GuideFrame, ParameterKind, TemplateKind};

    #[test]
    fn every_parameter_has_a_kind_that_fits_its_name() {
        let templates = TemplateKind::ALL.map(|t| (t.parameter_names(), t.parameter_kinds()));
        let guides = [
            Guide::bone(BoneRef::Name("Arm".into()), [0.5, 0.0, 0.1, 0.0]),
            Guide::skin(0, [0.2, 0.3, 0.5], [0.1, 0.0, 0.0]),
            Guide::free(GuideFrame::identity(), [0.0; 6]),
        ];
        let guides = guides.map(|guide| {
            let guide = guide.unwrap();
            (guide.parameter_names(), guide.parameter_kinds())
        });
        for (names, kinds) in templates.into_iter().chain(guides) {
            assert_eq!(names.len(), kinds.len());
            for (name, kind) in names.iter().zip(kinds) {
                let turns = ["angle", "tilt", "roll", "rx", "ry", "rz"].contains(name);
                assert_eq!(name.ends_with("radius"), *kind == ParameterKind::Radius);
                assert_eq!(*name == "strength", kind.unit() == "N/m³");
                assert_eq!(turns, kind.unit() == "rad");
            }
        }
    }
}
