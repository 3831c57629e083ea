/** Who sees what. */
import { expect, test } from "./house";

const UMA = { username: "uma", password: "purple monkey dishwasher" };
const VIC = { username: "vic", password: "purple monkey dishwasher" };

test("an admin lets others in, and a user sees its own jobs alone", async ({ page, house }) => {
  const token = await house.admin();
  const target = { type: "message", template: { text: "x" } };
  const schedule = { type: "interval", seconds: 3600 };
  const job = await house.ask<{ id: string }>(
    "/jobs/recurring",
    { name: "ada's own", schedule, target },
    token,
  );

  await house.enter(page, "/people");
  for (const [who, role] of [
    [UMA, "user"],
    [VIC, "viewer"],
  ] as const) {
    await page.getByRole("button", { name: "New user" }).click();
    await page.getByRole("dialog").getByLabel("Name").fill(who.username);
    await page.getByRole("dialog").getByLabel("Password").fill(who.password);
    await page.getByRole("dialog").getByLabel("Role").selectOption(role);
    await page.getByRole("button", { name: "Create user" }).click();
    await expect(page.getByRole("cell", { name: who.username, exact: true })).toBeVisible();
  }

  await house.enter(page, "/", UMA);
  await expect(page.getByRole("heading", { name: "Jobs" })).toBeVisible();
  await expect(page.getByText("No jobs yet")).toBeVisible();
  for (const name of ["Overview", "Workers", "Users and keys"]) {
    await expect(page.getByRole("link", { name, exact: true })).toBeHidden();
  }
  await page.goto(`${house.url}/ui/jobs/${job.id}`);
  await expect(page.getByRole("alert")).toContainText(/no job/i);
  await expect(page.getByText("ada's own")).toBeHidden();
});

test("a viewer sees everything and is offered nothing to change", async ({ page, house }) => {
  await house.hire(VIC, "viewer");
  const body = { name: "ada's second", schedule: { type: "interval", seconds: 3600 } };
  const target = { type: "message", template: { text: "x" } };
  await house.ask("/jobs/recurring", { ...body, target }, await house.admin());
  await house.enter(page, "/jobs?name=ada", VIC);
  await page.getByRole("link", { name: "ada's second" }).click();
  await expect(page.getByRole("heading", { name: /ada's second/ })).toBeVisible();
  for (const name of ["Run now", "Pause", "Edit"]) {
    await expect(page.getByRole("button", { name, exact: true })).toBeHidden();
  }
  await page.goto(`${house.url}/ui/jobs?name=ada`);
  await expect(page.getByRole("link", { name: "ada's second" })).toBeVisible();
  await expect(page.getByRole("checkbox")).toHaveCount(0);
  await expect(page.getByRole("link", { name: "New job" })).toHaveCount(0);
});

test("a key is shown once, lets a program in, and is revoked", async ({ page, house }) => {
  await house.enter(page, "/people");
  await page.getByRole("button", { name: "New key" }).click();
  await page.getByRole("dialog").getByLabel("Name").fill("nightly build");
  await page.getByRole("button", { name: "Create key" }).click();
  const key = (await page.getByRole("region", { name: "Key", exact: true }).textContent()) ?? "";
  await house.ask("/jobs", undefined, key.trim());
  await page.getByRole("button", { name: "I have it" }).click();
  await page
    .getByRole("row", { name: /nightly build/ })
    .getByRole("button", { name: "Revoke" })
    .click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await expect(page.getByText("No keys")).toBeVisible();
  await expect(house.ask("/jobs", undefined, key.trim())).rejects.toThrow(/401/);
});

test("quiet hours are drawn, made and observed by the next runs of a job", async ({ page, house }) => {
  await house.enter(page, "/quiet-hours");
  await page.getByRole("button", { name: "New policy" }).first().click();
  await page.getByRole("dialog").getByLabel("Name").fill("weekends");
  await page.getByRole("dialog").getByLabel("Other dates").fill("2096-12-24 quiet");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("region", { name: "weekends" })).toContainText("2096-12-24 quiet all day");

  await page.goto(`${house.url}/ui/jobs/new`);
  await page.getByLabel("Expression").fill("0 23 * * 1-5");
  await page.getByLabel("Quiet hours").selectOption({ label: "weekends" });
  const runs = page.getByRole("region", { name: "Next runs" }).getByRole("listitem");
  await expect(runs.getByText(/quiet/i).first()).toBeVisible();
});
