// Build the examples of React and Vue: `node build_examples.mjs NPM MODULE ENTRY TARGET`.
// NPM is the folder of installed packages, MODULE the form, and ENTRY an example's first file.
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";

const [npm, module, entry, target] = process.argv.slice(2);
const require = createRequire(join(npm, "anything.js"));
const { compileScript, parse } = require("vue/compiler-sfc");

const vue = {
  name: "vue",
  setup: (build) =>
    build.onLoad({ filter: /\.vue$/ }, async ({ path }) => {
      const { descriptor } = parse(await readFile(path, "utf8"));
      const isCustomElement = (tag) => tag === "watchword-verify";
      const templateOptions = { compilerOptions: { isCustomElement } };
      const { content } = compileScript(descriptor, { id: "login", inlineTemplate: true, templateOptions });
      return { contents: content, loader: "js" };
    }),
};

await require("esbuild").build({
  entryPoints: [entry],
  outfile: target,
  bundle: true,
  format: "esm",
  jsx: "automatic",
  nodePaths: [npm],
  alias: { "watchword-verify": module },
  define: { "process.env.NODE_ENV": '"production"', __VUE_OPTIONS_API__: "true", __VUE_PROD_DEVTOOLS__: "false", __VUE_PROD_HYDRATION_MISMATCH_DETAILS__: "false" },
  plugins: [vue],
});
