// The texts of the boards of attention.
export const ATTENTION_TEXTS = {
  attention_head: "head {n}",
  attention_heads: "head",
  attention_open_head: "Head {n} of {heads}: look inside",
  attention_query: "query",
  attention_key: "key",
  attention_weights: "weights",
  attention_mask: "+ mask",
  attention_row_sum: "Σ row = 1",
  attention_off: "switched off",
  attention_replaced: "replaced by a switch",
};
