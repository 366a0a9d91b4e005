// The switches as links write them (transformer/interventions/sets.py): name -> "value@heads,value@heads". Here as lists of
// {value, where}, so that a card can change one and leave what a link brought along. forms: how each is written, name ->
// {kinds, bare}, as Python gives them; bare: the heads are the whole value.

export function readSwitches(params, forms) {
  const lists = {};
  for (const [name, { bare }] of Object.entries(forms)) {
    const text = params && typeof params[name] === "string" ? params[name] : "";
    lists[name] = text
      ? text.split(",").map((part) => {
          if (bare) return { value: "", where: part };
          const [value, where] = part.split("@");
          return { value, where: where || "all" };
        })
      : [];
  }
  return lists;
}

export function writeSwitches(lists, forms) {
  const params = {};
  for (const [name, list] of Object.entries(lists)) {
    const parts = list.map(({ value, where }) => {
      if (forms[name].bare) return where;
      return where !== "all" ? `${value}@${where}` : value;
    });
    if (parts.length) params[name] = parts.join(",");
  }
  return params;
}

// A switch of a link with every sub-layer named as its switch names it. A link may also have its name in a pass, or that of
// its attention: zero=decoder.2.cross.5 is zero=cross.2.5, skip=cross.1 is skip=decoder.1.cross.
export function usualNames(name, text) {
  const usual = (where) =>
    name === "skip"
      ? where.replace(/^cross\.(\d+)$/, "decoder.$1.cross").replace(/^(\w+coder)_(self|ff)\.(\d+)$/, "$1.$3.$2")
      : name === "neurons"
        ? where.replace(/^(\w+coder)(?:_ff\.(\d+)|\.(\d+)\.ff)\./, "$1.$2$3.")
        : where.replace(/^decoder\.(\d+|\*)\.cross/, "cross.$1").replace(/^(\w+coder)\.(\d+|\*)\.self/, "$1_self.$2");
  const parts = text.split(",");
  return parts.map((part) => part.replace(/[^@]+$/, usual)).join(",");
}

// What a resampling switch takes its outputs from: a sentence as its text form and back; a seed has no sentence. The
// target of a pair, which only links and Python can give, stays as it is.
export function sentenceValue(text) {
  return "text." + encodeURIComponent(text.replace(/\p{Surrogate}/gu, "")).replace(/%20/g, "+");
}
export function sentenceOf(value) {
  const [, source] = /^text\.([^|]*)/.exec(value) || ["", ""];
  try {
    return decodeURIComponent(source.replace(/\+/g, " "));
  } catch {
    return "";
  }
}

// Does "cross.2.*" cover head `head` (from 0) of layer `layer` of the kind?
export function covers(target, kind, layer, head) {
  const [of, l = "*", h = "*"] = target.split(".");
  const fits = (text, index) => text === "*" || Number(text) === index + 1;
  return (of === "all" || of === kind) && fits(l, layer) && fits(h, head);
}

// The name of one head or of several, with indices from 0 or "all": "cross.3.7", "cross.*.7", "cross.3".
export function nameOf(kind, layer, head) {
  const places = [layer, head].map((index) => (index === "all" ? "*" : index + 1));
  return [kind, ...places].join(".").replace(/(\.\*)+$/, "");
}

// Every head, named "kind.layer.head", that these names cover; sizes: kind -> {layers, heads}.
export function headsIn(places, sizes) {
  const names = new Set();
  for (const [kind, { layers, heads }] of Object.entries(sizes)) {
    for (let l = 0; l < layers; l++)
      for (let h = 0; h < heads; h++)
        if (places.some((target) => covers(target, kind, l, h))) names.add(`${kind}.${l + 1}.${h + 1}`);
  }
  return names;
}

// The shortest list of names for these heads: one name for a whole kind or layer.
export function targetsOf(names, sizes) {
  const places = [];
  for (const [kind, { layers, heads }] of Object.entries(sizes)) {
    const targets = [];
    const single = [];
    for (let l = 1; l <= layers; l++) {
      const covered = Array.from({ length: heads }, (_, h) => `${kind}.${l}.${h + 1}`).filter((name) =>
        names.has(name),
      );
      if (covered.length === heads) targets.push(`${kind}.${l}`);
      else single.push(...covered);
    }
    places.push(...(targets.length === layers ? [kind] : targets), ...single);
  }
  return places;
}
