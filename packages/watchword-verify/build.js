// Build the module and its languages: `node build.js [FOLDER]`. Without a folder they go to where the service serves them.
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const { version } = JSON.parse(await readFile(join(here, "package.json"), "utf8"));
const target = process.argv[2] ?? join(here, "../../static/watchword-verify", version);
// ESBUILD names the folder of an esbuild that is installed elsewhere.
const esbuild = createRequire(import.meta.url)(process.env.ESBUILD ?? "esbuild");

await esbuild.build({
  entryPoints: [join(here, "src/index.js")],
  outfile: join(target, "watchword-verify.js"),
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  charset: "utf8",
  loader: { ".css": "text" },
  banner: { js: `/*! watchword-verify ${version} | MIT */` },
  plugins: [{ name: "short styles", setup: (build) => build.onLoad({ filter: /\.css$/ }, shorten) }],
});

const module = await readFile(join(target, "watchword-verify.js"));
const integrity = `sha384-${createHash("sha384").update(module).digest("base64")}`;
await writeFile(join(target, "integrity.txt"), `${integrity}\n`);

const languages = join(here, "src/languages");
await mkdir(join(target, "languages"), { recursive: true });
for (const name of await readdir(languages)) {
  const words = JSON.parse(await readFile(join(languages, name), "utf8"));
  await writeFile(join(target, "languages", name), JSON.stringify(words));
}

async function shorten({ path }) {
  const { code } = await esbuild.transform(await readFile(path, "utf8"), { loader: "css", minify: true, target: "esnext" });
  return { contents: code, loader: "text" };
}
