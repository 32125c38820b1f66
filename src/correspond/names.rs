// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parts and sides of the body by the names that rigs usually give their bones, in several languages.
//!
//! A name is cut into words at separators, capitals and digits: `mixamorig:LeftForeArm` is *left*, *fore*, *arm*. Words
//! that say a side are taken out, the rest joined and looked up. Names in Chinese characters and kana are searched for the
//! words that they contain.

use Part::*;

/// Side of the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodySide {
    Left,
    Right,
}

/// Part of the body that a bone moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Hips,
    Spine,
    Neck,
    Head,
    Jaw,
    Ear,
    Clavicle,
    UpperArm,
    Forearm,
    Hand,
    Thumb,
    Index,
    Middle,
    Ring,
    Pinky,
    Thigh,
    Shin,
    Foot,
    Toe,
    FrontLeg,
    HindLeg,
    Tail,
    Wing,
}

/// Groups of parts that rigs name one for the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Group {
    Trunk,
    Head,
    Arm,
    Leg,
    Tail,
    Wing,
}

impl Part {
    fn group(self) -> Group {
        match self {
            Hips | Spine => Group::Trunk,
            Neck | Head | Jaw | Ear => Group::Head,
            Clavicle | UpperArm | Forearm | Hand | Thumb | Index | Middle | Ring | Pinky
            | FrontLeg => Group::Arm,
            Thigh | Shin | Foot | Toe | HindLeg => Group::Leg,
            Tail => Group::Tail,
            Wing => Group::Wing,
        }
    }

    /// Returns whether the part stands for a whole limb.
    fn is_limb(self) -> bool {
        matches!(self, FrontLeg | HindLeg)
    }
}

/// Part and side of a bone by its name.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct BoneName {
    /// The name in lower case.
    whole: String,
    /// `true`: it says more than that it is a bone, and its number.
    telling: bool,
    pub part: Option<Part>,
    pub side: Option<BodySide>,
}

/// Words for the left and for the right: English, German, French, Spanish, Portuguese, Italian.
const LEFT: &[&str] = &[
    "l",
    "left",
    "links",
    "gauche",
    "izquierda",
    "izquierdo",
    "izq",
    "esquerda",
    "esquerdo",
    "sinistra",
    "sinistro",
    "sx",
];
const RIGHT: &[&str] = &[
    "r", "right", "rechts", "droit", "droite", "derecha", "derecho", "der", "direita", "direito",
    "destra", "destro", "dx",
];

/// Words that only mark a bone, or its owner.
const MEANINGLESS: &[&str] = &[
    "mixamorig",
    "def",
    "b",
    "bip",
    "cc",
    "base",
    "jnt",
    "joint",
    "bone",
    "sk",
    "bind",
    "valvebiped",
    "j",
    "c",
    "org",
    "mch",
    "ctrl",
    "leaf",
    "tip",
    "end",
    "twist",
    "anchor",
];

/// Parts by stems: the words of a name without those of its side. Where the stem is no entry, the longest one with which it
/// begins counts, then its first word that is one.
#[rustfmt::skip]
const STEMS: &[(Part, &[&str])] = &[
    (Hips, &["hips", "hip", "pelvis", "becken", "huefte", "hanche", "hanches", "bassin", "cadera", "caderas", "bacino", "quadril", "cog"]),
    (Spine, &["spine", "chest", "upperchest", "torso", "abdomen", "stomach", "belly", "waist", "lowerback", "upperback", "back", "ribcage",
        "wirbelsaeule", "brust", "bauch", "colonne", "poitrine", "torse", "columna", "pecho", "espalda", "coluna", "peito", "colonna",
        "petto", "schiena"]),
    (Neck, &["neck", "throat", "hals", "nacken", "cou", "cuello", "pescoco", "collo"]),
    (Head, &["head", "skull", "kopf", "tete", "cabeza", "cabeca", "testa"]),
    (Jaw, &["jaw", "mouth", "chin", "kiefer", "machoire", "mandibula", "mascella", "nose", "snout"]),
    (Ear, &["ear", "ohr", "oreille", "oreja", "orelha", "orecchio"]),
    (Clavicle, &["clavicle", "clavicula", "collar", "collarbone", "shoulder", "scapula", "schulter", "schluesselbein", "epaule", "clavicule",
        "hombro", "ombro", "spalla", "clavicola"]),
    (UpperArm, &["upperarm", "uparm", "armupper", "arm", "humerus", "oberarm", "bras", "brazo", "braco", "braccio"]),
    (Forearm, &["forearm", "lowerarm", "lowarm", "armlower", "elbow", "ulna", "unterarm", "ellbogen", "avantbras", "antebrazo", "antebraco",
        "avambraccio"]),
    (Hand, &["hand", "wrist", "palm", "handgelenk", "main", "poignet", "mano", "muneca", "mao", "polso"]),
    (Thumb, &["thumb", "handthumb", "daumen", "pouce", "pulgar", "polegar", "pollice"]),
    (Index, &["index", "handindex", "zeigefinger", "indice", "fingerbase", "finger"]),
    (Middle, &["middle", "handmiddle", "mittelfinger", "majeur", "medio"]),
    (Ring, &["ring", "handring", "ringfinger", "annulaire", "anular", "anulare"]),
    (Pinky, &["pinky", "handpinky", "little", "kleinerfinger", "auriculaire", "menique", "mindinho", "mignolo"]),
    (Thigh, &["thigh", "upperleg", "upleg", "legupper", "femur", "oberschenkel", "cuisse", "muslo", "coxa", "coscia"]),
    (Shin, &["shin", "calf", "lowerleg", "lowleg", "leglower", "knee", "tibia", "unterschenkel", "knie", "tibia", "mollet", "genou",
        "pantorrilla", "rodilla", "canela", "joelho", "polpaccio", "ginocchio"]),
    (Foot, &["foot", "ankle", "fuss", "knoechel", "pied", "cheville", "pie", "tobillo", "pe", "tornozelo", "piede", "caviglia"]),
    (Toe, &["toe", "toes", "toebase", "ball", "zeh", "zehen", "orteil", "orteils", "dedo", "dedos", "punta"]),
    (FrontLeg, &["frontleg", "foreleg", "vorderbein", "frontupperleg", "frontlowerleg", "frontupleg", "frontlowleg", "frontfoot", "frontshoulder",
        "ikfrontleg", "ff", "legfront", "front"]),
    (HindLeg, &["hindleg", "backleg", "rearleg", "hinterbein", "backupperleg", "backlowerleg", "backupleg", "backlowleg", "backfoot", "backhip",
        "backshoulder", "ikbackleg", "ffb", "legback", "hind", "rear"]),
    (Tail, &["tail", "schwanz", "queue", "cola", "cauda", "coda"]),
    (Wing, &["wing", "fluegel", "aile", "ala", "asa", "feather"]),
];

/// Parts by words in Japanese and Chinese, longer ones before those that they contain.
#[rustfmt::skip]
const CONTAINED: &[(Part, &[&str])] = &[
    (Thumb, &["親指", "拇指"]), (Index, &["人指", "人差指", "食指"]), (Middle, &["中指"]), (Ring, &["薬指", "无名指", "無名指"]),
    (Pinky, &["小指"]), (Toe, &["つま先", "足指", "脚趾"]), (Foot, &["足首", "脚踝", "脚掌"]), (Hand, &["手首", "手腕", "手掌", "手"]),
    (Shin, &["ひざ", "膝", "すね", "小腿"]), (Thigh, &["太もも", "大腿", "足"]), (Forearm, &["ひじ", "肘", "前腕", "前臂", "小臂"]),
    (Clavicle, &["肩", "锁骨", "鎖骨"]), (UpperArm, &["腕", "上臂", "大臂"]), (Hips, &["下半身", "腰", "骨盆", "骨盤", "センター"]),
    (Spine, &["上半身", "脊", "胸", "背"]), (Neck, &["首", "颈", "頸"]), (Head, &["頭", "头"]), (Ear, &["耳"]), (Jaw, &["あご", "顎", "下巴"]),
    (Tail, &["尻尾", "しっぽ", "尾"]), (Wing, &["翼", "羽"]),
];

impl BoneName {
    /// Reads the name of a bone.
    pub fn new(name: &str) -> Self {
        let (mut side, mut words) = (None, Vec::new());
        for word in split_words(name) {
            match () {
                () if LEFT.contains(&word.as_str()) => side = side.or(Some(BodySide::Left)),
                () if RIGHT.contains(&word.as_str()) => side = side.or(Some(BodySide::Right)),
                () if MEANINGLESS.contains(&word.as_str()) => {}
                () => {
                    let (own, rest) = without_side(word);
                    side = side.or(own);
                    words.push(rest);
                }
            }
        }
        side = side.or(match (name.contains('左'), name.contains('右')) {
            (true, false) => Some(BodySide::Left),
            (false, true) => Some(BodySide::Right),
            _ => None,
        });
        let contained = CONTAINED
            .iter()
            .find(|(_, words)| words.iter().any(|w| name.contains(w)));
        let part = contained
            .map(|found| found.0)
            .or_else(|| look_up(&words.concat()))
            .or_else(|| look_up_beginning(&words.concat()))
            .or_else(|| words.iter().find_map(|word| look_up(word)));
        let is_telling = |word: &String| word.len() >= MIN_TELLING;
        Self {
            whole: name.to_lowercase(),
            telling: part.is_some() || words.iter().any(is_telling),
            part,
            side,
        }
    }

    /// Returns whether two names are the same and tell which bone it is.
    pub fn is_same(&self, other: &Self) -> bool {
        self.telling && self.whole == other.whole
    }

    /// Returns whether two names say the same part and side.
    pub fn is_same_part(&self, other: &Self) -> bool {
        self.part.is_some() && (self.part, self.side) == (other.part, other.side)
    }

    /// Returns the cost of pairing two bones by their names: negative where the names agree, 0 where they say nothing.
    pub fn cost(&self, other: &Self) -> f64 {
        let sides = match (self.side, other.side) {
            (Some(a), Some(b)) if a != b => OTHER_SIDE,
            _ => 0.0,
        };
        let parts = match (self.part, other.part) {
            _ if self.whole == other.whole => SAME_NAME,
            (Some(a), Some(b)) if a == b => SAME_PART,
            (Some(a), Some(b)) if a.group() != b.group() => OTHER_GROUP,
            (Some(a), Some(b)) if a.is_limb() || b.is_limb() => 0.5 * SAME_PART,
            (Some(_), Some(_)) => OTHER_PART,
            _ => 0.0,
        };
        sides + parts
    }
}

/// Bytes of a word from which it tells something, as `fin` does and the `b` of `b12` does not.
const MIN_TELLING: usize = 3;
/// Costs of a pair by names, beside the 0.75 that it earns: another side outweighs it, an equal part outweighs the distance
/// of most places.
const SAME_NAME: f64 = -0.4;
const SAME_PART: f64 = -0.3;
const OTHER_PART: f64 = 0.25;
const OTHER_GROUP: f64 = 0.8;
const OTHER_SIDE: f64 = 1.5;

fn look_up(stem: &str) -> Option<Part> {
    let found = STEMS.iter().find(|(_, stems)| stems.contains(&stem));
    found.map(|found| found.0)
}

/// Looks up the longest entry with which a stem begins: `backlegpelvis` is a hind leg, and not the back.
fn look_up_beginning(stem: &str) -> Option<Part> {
    /// Letters from which a beginning says something: `ear` and `arm` also begin other words.
    const MIN_LETTERS: usize = 4;
    let entries = STEMS
        .iter()
        .flat_map(|(part, stems)| stems.iter().map(move |s| (*part, *s)));
    let beginnings = entries.filter(|(_, s)| s.len() >= MIN_LETTERS && stem.starts_with(s));
    beginnings.max_by_key(|(_, s)| s.len()).map(|found| found.0)
}

/// Splits a side off the beginning of a word: `leftforearm` is *left* and *forearm*.
fn without_side(word: String) -> (Option<BodySide>, String) {
    for (start, side) in [("left", BodySide::Left), ("right", BodySide::Right)] {
        if let Some(rest) = word.strip_prefix(start)
            && !rest.is_empty()
        {
            return (Some(side), rest.into());
        }
    }
    (None, word)
}

/// Cuts a name into words in lower case, without digits. Umlauts and accents become plain letters.
fn split_words(name: &str) -> Vec<String> {
    let letters: Vec<char> = name.chars().collect();
    let mut words = vec![String::new()];
    for (i, &c) in letters.iter().enumerate() {
        let before = i.checked_sub(1).map(|i| letters[i]);
        let after = letters.get(i + 1);
        // A capital after a small letter begins a word, and the last of several capitals before a small one.
        let begins = c.is_uppercase()
            && before.is_some_and(|b| {
                b.is_lowercase() || (b.is_uppercase() && after.is_some_and(|a| a.is_lowercase()))
            });
        if begins || !c.is_alphabetic() {
            words.push(String::new());
        }
        if c.is_alphabetic()
            && let Some(word) = words.last_mut()
        {
            word.extend(c.to_lowercase().flat_map(plain_letters));
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Returns a letter without its umlaut or accent.
fn plain_letters(c: char) -> impl Iterator<Item = char> {
    let plain: &str = match c {
        'ä' => "ae",
        'ö' => "oe",
        'ü' => "ue",
        'ß' => "ss",
        'á' | 'à' | 'â' | 'ã' => "a",
        'é' | 'è' | 'ê' => "e",
        'í' | 'î' | 'ì' => "i",
        'ó' | 'ô' | 'õ' | 'ò' => "o",
        'ú' | 'û' | 'ù' => "u",
        'ç' => "c",
        'ñ' => "n",
        _ => "",
    };
    let own = plain.is_empty().then_some(c);
    plain.chars().chain(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parts and sides are read from the usual spellings of several languages.
    #[test]
    fn names_of_many_rigs() {
        let (l, r) = (Some(BodySide::Left), Some(BodySide::Right));
        for (name, part, side) in [
            ("mixamorig:LeftForeArm", Some(Forearm), l),
            ("DEF-upper_arm.R.001", Some(UpperArm), r),
            ("upperarm_l", Some(UpperArm), l),
            ("b_RightLeg01_019", None, r),
            ("LThumb", Some(Thumb), l),
            ("spine_03", Some(Spine), None),
            ("Oberschenkel.R", Some(Thigh), r),
            ("Unterarm links", Some(Forearm), l),
            ("Schlüsselbein_L", Some(Clavicle), l),
            ("Cuisse droite", Some(Thigh), r),
            ("antebrazo_izq", Some(Forearm), l),
            ("mão_direita", Some(Hand), r),
            ("coscia sinistra", Some(Thigh), l),
            ("左ひじ", Some(Forearm), l),
            ("右足首", Some(Foot), r),
            ("右足", Some(Thigh), r),
            ("上半身2", Some(Spine), None),
            ("头", Some(Head), None),
            ("FrontUpperLeg.L", Some(FrontLeg), l),
            ("back_leg_pelvis_l", Some(HindLeg), l),
            ("front_scapula_r", Some(FrontLeg), r),
            ("ribcage_middle", Some(Spine), None),
            ("joint 12", None, None),
            ("", None, None),
        ] {
            let read = BoneName::new(name);
            assert_eq!((read.part, read.side), (part, side), "{name}");
        }
    }

    /// Equal names cost least, then equal parts; another part costs more than silence, and the other side more than a match
    /// earns.
    #[test]
    fn costs_are_ordered() {
        let cost = |a: &str, b: &str| BoneName::new(a).cost(&BoneName::new(b));
        assert!(cost("hand_l", "Hand_L") < cost("hand_l", "Mano izquierda"));
        assert!(cost("hand_l", "Mano izquierda") < cost("hand_l", "joint 7"));
        assert_eq!(cost("hand_l", "joint 7"), 0.0);
        assert!(cost("hand_l", "lowerarm_l") > 0.0);
        assert!(cost("hand_l", "thigh_l") > cost("hand_l", "lowerarm_l"));
        assert!(cost("hand_l", "hand_r") > 0.75);
        let names = ["hand_l", "頭", "x", "FF.R"];
        for (a, b) in names.iter().flat_map(|a| names.map(|b| (*a, b))) {
            assert_eq!(cost(a, b), cost(b, a));
        }
    }

    /// The same name tells which bone it is unless it is a number or a letter; parts and sides agree in any language.
    #[test]
    fn telling_names_are_the_same() {
        let same = |a: &str, b: &str| BoneName::new(a).is_same(&BoneName::new(b));
        let part = |a: &str, b: &str| BoneName::new(a).is_same_part(&BoneName::new(b));
        assert!(same("hand_l", "Hand_L") && same("Fin.003", "Fin.003") && same("頭", "頭"));
        assert!(!same("bone.001", "bone.001") && !same("b12", "b12") && !same("", ""));
        assert!(!same("Fin.003", "Fin.004"));
        assert!(part("Oberarm.L", "upperarm_l") && !part("Oberarm.L", "upperarm_r"));
        assert!(!part("Fin.003", "Fin.003"));
    }
}
