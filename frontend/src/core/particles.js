// Korean particles after inserted text, as transformer/particles.py describes: "{name}은(는)" becomes 은 or 는, or stays
// where the spelling does not tell.

const FORMS = {
  "은(는)": "은는",
  "이(가)": "이가",
  "을(를)": "을를",
  "와(과)": "과와",
  "(으)로": ["으로", "로"],
  "(이)라": ["이라", "라"],
};
// A place that is not filled in yet keeps both forms.
const PLACE = /(?<!\})(?:은\(는\)|이\(가\)|을\(를\)|와\(과\)|\(으\)로|\(이\)라)/g;
const DIGITS = "영일이삼사오육칠팔구";
const UNITS = ["", "십", "백", "천", "만", "만", "만", "만", "억"];
const LETTERS = { l: "엘", r: "알", m: "엠", n: "엔" };
const ENDINGS = { l: "엘", m: "엠", n: "엔", ng: "잉" };
const RIEUL = 8;
const BRACKETS = /(?<=[가-힣])\s?\([^()]*\)[^\p{L}\p{N}_]*$/u;
const UNSURE = /[aeiouy][bckpt]k?$/;

/** @param {string} syllable */
function finalOf(syllable) {
  return (syllable.charCodeAt(0) - 0xac00) % 28;
}

/** @param {string} digits @param {boolean} fraction */
function numberEnd(digits, fraction) {
  const zeros = digits.length - digits.replace(/0+$/, "").length;
  const last = DIGITS[Number(digits[digits.length - 1])];
  const whole = zeros === 0 || fraction || zeros === digits.length;
  return finalOf(whole ? last : UNITS[Math.min(zeros, UNITS.length - 1)]);
}

// The final consonant with which a Korean reads the end of a text, 0 for none, null if the spelling does not tell.
/** @param {string} before */
function lastSound(before) {
  const plain = before
    .replace(/<[^<>]*>/g, "")
    .normalize("NFKC")
    .replace(BRACKETS, "");
  const text = plain.replace(/[^\p{L}\p{N}%]+$/u, "");
  const last = text[text.length - 1] ?? "";
  if (last >= "가" && last <= "힣") return finalOf(last);
  if (/[0-9]/.test(last)) {
    const number = /(?:[0-9]|(?<=[0-9]),(?=[0-9]))+$/.exec(text);
    return numberEnd(number[0].replaceAll(",", ""), text[number.index - 1] === ".");
  }
  if (last === "ε") return finalOf("론");
  const letters = /[A-Za-z]+$/.exec(text)?.[0] ?? "";
  const word = letters.toLowerCase();
  if (word.length === 1 || (word && letters === letters.toUpperCase()))
    return finalOf(LETTERS[last.toLowerCase()] ?? "에");
  if (UNSURE.test(word)) return null;
  const end = Object.keys(ENDINGS).find((one) => word.endsWith(one));
  return end ? finalOf(ENDINGS[end]) : 0;
}

/** @param {string} text */
export function chooseParticles(text) {
  return text.replace(PLACE, (both, start) => {
    const sound = lastSound(text.slice(0, start));
    if (sound === null) return both;
    return FORMS[both][sound === 0 || (both === "(으)로" && sound === RIEUL) ? 1 : 0];
  });
}
