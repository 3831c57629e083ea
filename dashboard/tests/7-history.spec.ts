/** The past: browsed from years down to hours, searched by words, and run after all. */
import { expect, test } from "./house";

test("the history is browsed from years to hours, down to the runs that bear it out", async ({
  page,
  house,
  store,
}) => {
  test.skip(store === "postgres", "nodes that share a database share its clock, and have no past");
  await house.recall();
  await house.enter(page, "/history");
  const years = page.getByRole("region", { name: "Years" });
  await years.getByRole("link").last().click();
  for (const part of ["Months", "Weeks", "Days", "Hours"]) {
    const parts = page.getByRole("region", { name: part });
    await expect(parts).toBeVisible();
    await parts.getByRole("link").first().click();
  }
  // The oldest hour of all, in which each job ran a dozen times, and perhaps one of the scheduler's own.
  await expect(page).toHaveURL(/toc%3Ahour/);
  const figures = page.getByRole("region", { name: "Figures" });
  await expect(figures).toContainText(/Attempts\s*2[4-9]/);
  await expect(figures).toContainText(/Failed\s*12/);
  await expect(page.getByRole("region", { name: "Failed most" })).toContainText("Invoice sync");
  const notes = page.getByRole("region", { name: "What happened" });
  const note = notes.getByRole("listitem").filter({ hasText: "Invoice sync" }).first();
  await expect(note).toBeVisible();
  await page.getByRole("link", { name: "After" }).click();
  await expect(page.getByRole("link", { name: "Before" })).toBeVisible();
  await page.getByRole("link", { name: "Before" }).click();
  await note.getByRole("link", { name: "run 1 that bears it out" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toContainText("Failed");
});

test("what happened is found by its words, marked, and narrowed by when and what it was", async ({
  page,
  house,
}) => {
  const token = await house.admin();
  house.answerWith(500, '{"trouble":"the flux capacitor melted"}');
  const job = await house.ask<{ id: string }>(
    "/jobs",
    { name: "time machine", target: { type: "http", url: `${house.endpoint}/fail` }, max_retry: 0 },
    token,
  );
  await expect.poll(async () => (await house.ask(`/jobs/${job.id}`, undefined, token)).status).toBe("FAILED");
  house.answerWith(503);
  await house.enter(page, "/history");
  const field = page.getByRole("searchbox", { name: "Search the history" });
  await expect(field).toBeVisible();
  await page.keyboard.press("/");
  await expect(field).toBeFocused();
  await field.fill('job:"time machine" capacitor');
  await expect(async () => {
    await field.press("Enter");
    await expect(page.getByRole("list", { name: "Found" })).toBeVisible({ timeout: 1_000 });
  }).toPass();
  const found = page.getByRole("list", { name: "Found" }).getByRole("listitem").first();
  await expect(found.locator("mark").filter({ hasText: "capacitor" })).toBeVisible();
  await page.getByRole("button", { name: "Executions" }).click();
  await expect(page).toHaveURL(/kind%3Aexecution/);
  await page.getByRole("region", { name: "When" }).getByRole("button").first().click();
  await expect(page).toHaveURL(/after%3A/);
  await expect(page.getByRole("list", { name: "Found" }).getByRole("listitem")).toHaveCount(1);
  await found.getByRole("link").first().click();
  await expect(page.getByRole("region", { name: "Body" })).toContainText("flux capacitor");
  await page.goto(`${house.url}/ui/history?q=after:yesteryear`);
  await expect(page.getByRole("alert")).toContainText(/yesteryear/);
});

test("past slots run after all, tried out first and watched to their end", async ({ page, house }) => {
  const token = await house.admin();
  const job = await house.ask<{ id: string }>(
    "/jobs/recurring",
    {
      name: "left behind",
      schedule: { type: "cron", expression: "*/10 * * * *", timezone: "UTC" },
      target: { type: "http", url: `${house.endpoint}/ok` },
    },
    token,
  );
  await house.enter(page, `/jobs/${job.id}`);
  await page.getByRole("button", { name: "Run past slots…" }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog.getByRole("button", { name: "Run them" })).toBeDisabled();
  await dialog.getByLabel("From").fill("2026-01-01T01:00:00");
  await dialog.getByLabel("Before").fill("2026-01-01T03:00:00");
  await dialog.getByLabel("At once").fill("4");
  await dialog.getByRole("button", { name: "Show what would run" }).click();
  await expect(dialog.getByTestId("backfill-preview")).toContainText("12 slots: 12 run");
  await dialog.getByRole("button", { name: "Run them" }).click();
  const backfill = page.getByRole("region", { name: "Backfills" });
  await expect(backfill.getByRole("progressbar")).toHaveAttribute("aria-valuemax", "12");
  await expect(backfill).toContainText("12 of 12");
  await expect(backfill).toContainText("finished");
  await expect(backfill).toContainText("12 succeeded");
  const runs = page.getByRole("region", { name: "Executions", exact: true }).last();
  await expect(runs.getByText("Succeeded")).toHaveCount(12);

  // Those that have run are left as they are, unless they are asked for again.
  await page.getByRole("button", { name: "Run past slots…" }).click();
  await dialog.getByLabel("From").fill("2026-01-01T01:00:00");
  await dialog.getByLabel("Before").fill("2026-01-01T03:00:00");
  await dialog.getByRole("button", { name: "Show what would run" }).click();
  await expect(dialog.getByTestId("backfill-preview")).toContainText("12 left as they are");
});
