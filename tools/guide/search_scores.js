// Scores of search results (Sphinx). Pages come before names of the Python package: an artist who seeks "softness" wants the dial.
var Scorer = {
  objNameMatch: 6,
  objPartialMatch: 3,
  objPrio: { 0: 4, 1: 0, 2: -5 },
  objPrioDefault: 0,
  title: 20,
  partialTitle: 12,
  term: 5,
  partialTerm: 2,
};
