/** How a page looks, kept as a picture, and whether it is fit for every reader. */
import AxeBuilder from "@axe-core/playwright";
import { expect, type Page } from "@playwright/test";

export const SHOTS = process.env.CHRONOS_SHOTS ?? "test-results";
export const THEMES = ["light", "dark"] as const;

/** Takes a picture of the page, and finds no serious barrier on it. */
export async function isFitForEveryone(page: Page, name: string) {
  await page.screenshot({ path: `${SHOTS}/${name}.png` });
  const { violations } = await new AxeBuilder({ page })
    .withTags(["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"])
    .analyze();
  const told = violations.map(({ id, impact, nodes }) => `${impact} ${id}: ${nodes[0]?.html}`);
  expect(told.filter((it) => /^(serious|critical)/.test(it))).toEqual([]);
}

/** The same in the light and in the dark. */
export async function isFitInEveryLight(page: Page, name: string) {
  for (const theme of THEMES) {
    await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
    await isFitForEveryone(page, `${name}-${theme}`);
  }
}
