// Builds the page of `ui/src`: one file with its script and its style, and a policy that allows nothing else.
//
//     BAYPLAN_NODE=FOLDER node ui/build.mjs OUTPUT     FOLDER has node_modules; `tools/page.sh` calls it
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const { build } = createRequire(join(process.env.BAYPLAN_NODE, "package.json"))("esbuild");
const here = dirname(fileURLToPath(import.meta.url));
const common = { bundle: true, minify: true, write: false, charset: "utf8", legalComments: "none", logLevel: "error" };
const made = async (file, more) => {
  const { outputFiles } = await build({ ...common, ...more, entryPoints: [join(here, "src", file)], outdir: "/" });
  return outputFiles[0].text.trim();
};
const script = await made("main.js", { format: "esm", target: "es2023" });
const style = await made("style.css", { target: ["chrome120", "firefox120", "safari17"] });
if (script.includes("</script") || style.includes("</style")) throw new Error("the page would end in its own text");
const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
const policy = [
  "default-src 'none'", `script-src ${hash(script)}`, `style-src ${hash(style)}`, "base-uri 'none'", "form-action 'none'",
].join("; ");
const parts = { policy, style, script };
const page = readFileSync(join(here, "src/page.html"), "utf8").replace(/\{\{(\w+)\}\}/g, (_, name) => parts[name]);
writeFileSync(process.argv[2], page);
