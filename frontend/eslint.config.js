import js from "@eslint/js";
import globals from "globals";

export default [
  js.configs.recommended,
  {
    languageOptions: { globals: globals.browser },
    rules: {
      "no-var": "error",
      "prefer-const": "error",
      "no-unused-vars": ["error", { ignoreRestSiblings: true, argsIgnorePattern: "^_" }],
      eqeqeq: ["error", "always", { null: "ignore" }],
      "no-restricted-properties": [
        "error",
        { property: "innerHTML", message: "Text is always set as text: see core/dom.js." },
      ],
    },
  },
  // No import of node:process: it lets the pipe of the standard input return before it was written (findings/).
  { files: ["*.js", "**/*.test.js", "**/testing/*.js"], languageOptions: { globals: globals.node } },
];
