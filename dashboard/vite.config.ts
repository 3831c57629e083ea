import { appendFileSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { gzipSync } from "node:zlib";
import tailwind from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

/** Where a daemon answers while the dashboard is worked on. */
const daemon = process.env.CHRONOS_URL ?? "http://127.0.0.1:8080";
const routes =
  "api-keys|audit|auth|backfills|dead-letters|events|executions|history|jobs|monitoring|quiet-hours|schedules|subscriptions|users|healthz";

/** Whose work the dashboard is made of, and on which terms. */
const LICENCES = "licences.txt";

/** Lays a packed file beside each that is worth it; the daemon serves whichever is taken. */
function packed(): Plugin {
  const pack = (directory: string) => {
    for (const name of readdirSync(directory)) {
      const path = join(directory, name);
      if (statSync(path).isDirectory()) pack(path);
      else if (/\.(js|css|svg|html|txt)$/.test(name)) {
        writeFileSync(`${path}.gz`, gzipSync(readFileSync(path), { level: 9 }));
      }
    }
  };
  return { name: "packed", apply: "build", closeBundle: () => pack(resolve("dist/site")) };
}

/** The fonts' licence goes where the bundled packages' are. */
function fonts(): Plugin {
  const licence = "node_modules/@fontsource/ibm-plex-sans/LICENSE";
  const add = () =>
    appendFileSync(`dist/site/${LICENCES}`, `\n## IBM Plex\n\n${readFileSync(licence, "utf8")}`);
  return { name: "fonts", apply: "build", closeBundle: add };
}

export default defineConfig({
  base: "/ui/",
  plugins: [react(), tailwind(), fonts(), packed()],
  resolve: {
    alias: {
      "@": resolve("src"),
      // Radix locks scrolling by an inline style, which the content security policy refuses.
      "react-style-singleton": resolve("src/lib/style-singleton.ts"),
    },
  },
  build: {
    outDir: "dist/site",
    emptyOutDir: true,
    license: { fileName: LICENCES },
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 700,
  },
  server: {
    proxy: { [`^/(${routes})(/|\\?|$)`]: { target: daemon, changeOrigin: true } },
  },
});
