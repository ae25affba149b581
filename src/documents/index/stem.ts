// Porter's stemmer (M. F. Porter, "An algorithm for suffix stripping", 1980): English words that mean the same become the same
// term: refund, refunds, refunded; reimburse, reimbursement. Other languages lose a little and are served alike on both sides.

/** Contract: lower case. Words with anything but a to z stay as they are. */
export function stem(word: string): string {
  if (word.length < 3 || word.length > longestWord || !/^[a-z]+$/.test(word)) return word;
  return [step1a, step1b, step1c, step2, step3, step4, step5].reduce((term, step) => step(term), word);
}

const longestWord = 40;

const consonant = "[^aeiou]";
const vowel = "[aeiouy]";
const consonants = `${consonant}[^aeiouy]*`;
const vowels = `${vowel}[aeiou]*`;
/** How often vowels are followed by consonants: at least once, exactly once, more than once. */
const measured = new RegExp(`^(${consonants})?${vowels}${consonants}`);
const measuredOnce = new RegExp(`^(${consonants})?${vowels}${consonants}(${vowels})?$`);
const measuredMore = new RegExp(`^(${consonants})?${vowels}${consonants}${vowels}${consonants}`);
const hasVowel = new RegExp(`^(${consonants})?${vowel}`);
const isShort = new RegExp(`^${consonants}${vowel}[^aeiouwxy]$`);

const step1a = (word: string): string => word.replace(/(ss|i)es$/, "$1").replace(/([^s])s$/, "$1");

function step1b(word: string): string {
  if (word.endsWith("eed")) return measured.test(word.slice(0, -3)) ? word.slice(0, -1) : word;
  const root = /^(.+?)(?:ed|ing)$/.exec(word)?.[1];
  if (root === undefined || !hasVowel.test(root)) return word;
  if (/(?:at|bl|iz)$/.test(root)) return `${root}e`;
  if (/([^aeiouylsz])\1$/.test(root)) return root.slice(0, -1);
  return isShort.test(root) ? `${root}e` : root;
}

const step1c = (word: string): string =>
  word.endsWith("y") && hasVowel.test(word.slice(0, -1)) ? `${word.slice(0, -1)}i` : word;

const step2 = (word: string): string => replaced(word, endings2, measured);
const step3 = (word: string): string => replaced(word, endings3, measured);

function step4(word: string): string {
  const [, root, ending] = endings4.exec(word) ?? [];
  if (root === undefined || !measuredMore.test(root)) return word;
  return ending === "ion" && !/[st]$/.test(root) ? word : root;
}

function step5(word: string): string {
  let term = word;
  if (term.endsWith("e")) {
    const root = term.slice(0, -1);
    if (measuredMore.test(root) || (measuredOnce.test(root) && !isShort.test(root))) term = root;
  }
  return term.endsWith("ll") && measuredMore.test(term) ? term.slice(0, -1) : term;
}

function replaced(word: string, endings: readonly (readonly [string, string])[], condition: RegExp): string {
  const found = endings.find(([ending]) => word.endsWith(ending));
  if (found === undefined) return word;
  const root = word.slice(0, -found[0].length);
  return condition.test(root) ? root + found[1] : word;
}

/** Longer ones first, where one is the end of another. */
const endings2 = [
  ["ational", "ate"],
  ["tional", "tion"],
  ["enci", "ence"],
  ["anci", "ance"],
  ["izer", "ize"],
  ["bli", "ble"],
  ["alli", "al"],
  ["entli", "ent"],
  ["eli", "e"],
  ["ousli", "ous"],
  ["ization", "ize"],
  ["ation", "ate"],
  ["ator", "ate"],
  ["alism", "al"],
  ["iveness", "ive"],
  ["fulness", "ful"],
  ["ousness", "ous"],
  ["aliti", "al"],
  ["iviti", "ive"],
  ["biliti", "ble"],
  ["logi", "log"],
] as const;

const endings3 = [
  ["icate", "ic"],
  ["ative", ""],
  ["alize", "al"],
  ["iciti", "ic"],
  ["ical", "ic"],
  ["ful", ""],
  ["ness", ""],
] as const;

const endings4 = /^(.+?)(al|ance|ence|er|ic|able|ible|ant|ement|ment|ent|ion|ou|ism|ate|iti|ous|ive|ize)$/;
