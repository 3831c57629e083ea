/** Writing a quiet-hours policy. */
import { useQueryClient } from "@tanstack/react-query";
import { Plus, X } from "lucide-react";
import { type FormEvent, useState } from "react";
import { api, done, type NewQuietHours, type QuietHours } from "@/api/client";
import { fieldsOf, inWords } from "@/api/problem";
import { quietHours } from "@/api/queries";
import { here } from "@/lib/time";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { Area, Field, Input, Select } from "@/ui/field";
import { Refusal } from "@/ui/states";
import { say } from "@/ui/toast";
import { DAYS, Week, type Window } from "./week";

type Mode = NonNullable<NewQuietHours["mode"]>;

export function PolicyForm({ policy, onClose }: { policy: QuietHours | undefined; onClose: () => void }) {
  const client = useQueryClient();
  const [name, setName] = useState(policy?.name ?? "");
  const [timezone, setTimezone] = useState(policy?.timezone ?? here);
  const [mode, setMode] = useState<Mode>(policy?.mode ?? "skip");
  const [windows, setWindows] = useState<Window[]>(
    policy?.windows ?? [{ days: ["mon", "tue", "wed", "thu", "fri"], start: "22:00", end: "07:00" }],
  );
  const [dates, setDates] = useState(() => datesOf(policy));
  const [error, setError] = useState<unknown>();
  const fields = fieldsOf(error);
  const change = (place: number, part: Partial<Window>) =>
    setWindows(windows.map((it, other) => (other === place ? { ...it, ...part } : it)));

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const body = { name, timezone, mode, windows, exceptions: exceptionsOf(dates) };
    try {
      if (policy) {
        const params = { path: { id: policy.id }, header: { "If-Match": `"${policy.version}"` } };
        await done(api.PATCH("/quiet-hours/{id}", { params: params as never, body: body as never }));
      } else await done(api.POST("/quiet-hours", { body }));
      await client.invalidateQueries({ queryKey: quietHours.queryKey });
      say(`Saved: ${name}`);
      onClose();
    } catch (problem) {
      setError(problem);
    }
  };
  return (
    <Dialog open onClose={onClose} title={policy ? `Edit ${policy.name}` : "New quiet hours"} wide>
      <form onSubmit={submit} className="space-y-4">
        <div className="grid gap-4 sm:grid-cols-3">
          <Field label="Name" error={fields.name}>
            <Input required value={name} onChange={({ target }) => setName(target.value)} />
          </Field>
          <Field label="Time zone" error={fields.timezone}>
            <Input value={timezone} onChange={({ target }) => setTimezone(target.value)} />
          </Field>
          <Field label="A slot that falls in" error={fields.mode}>
            <Select value={mode} onChange={({ target }) => setMode(target.value as Mode)}>
              <option value="skip">is skipped</option>
              <option value="defer">waits until it is over</option>
            </Select>
          </Field>
        </div>
        <fieldset className="space-y-2">
          <legend className="mb-1 font-medium text-sm">Windows</legend>
          {windows.map((window, place) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: windows have nothing else to be known by
            <div key={place} className="flex flex-wrap items-center gap-x-3 gap-y-1.5">
              <Days days={window.days ?? [...DAYS]} onChange={(days) => change(place, { days })} />
              <Input
                aria-label="From"
                className="tabular w-20"
                value={window.start}
                onChange={({ target }) => change(place, { start: target.value })}
              />
              <Input
                aria-label="To"
                className="tabular w-20"
                value={window.end}
                onChange={({ target }) => change(place, { end: target.value })}
              />
              <Button
                kind="quiet"
                size="icon"
                aria-label="Remove the window"
                onClick={() => setWindows(windows.filter((_, other) => other !== place))}
              >
                <X />
              </Button>
            </div>
          ))}
          <Button
            size="small"
            onClick={() => setWindows([...windows, { days: ["sat", "sun"], start: "00:00", end: "24:00" }])}
          >
            <Plus /> Window
          </Button>
        </fieldset>
        <Week windows={windows} />
        <Field
          label="Other dates"
          hint="One on each line, such as 2026-12-24 quiet or 2026-12-31 not."
          error={fields.exceptions}
        >
          <Area value={dates} onChange={({ target }) => setDates(target.value)} />
        </Field>
        {error !== undefined && <Refusal>{inWords(error)}</Refusal>}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary">
            Save
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

function Days({ days, onChange }: { days: string[]; onChange: (days: string[]) => void }) {
  return (
    <span className="flex gap-1">
      {DAYS.map((day) => {
        const on = days.includes(day);
        return (
          <button
            key={day}
            type="button"
            aria-pressed={on}
            onClick={() => onChange(on ? days.filter((it) => it !== day) : [...days, day])}
            className="h-7 w-9 rounded border text-2xs capitalize aria-pressed:border-ink aria-pressed:bg-ink aria-pressed:text-on-ink"
          >
            {day}
          </button>
        );
      })}
    </span>
  );
}

function datesOf(policy: QuietHours | undefined): string {
  return (policy?.exceptions ?? []).map((it) => `${it.date} ${it.quiet ? "quiet" : "not"}`).join("\n");
}

function exceptionsOf(text: string) {
  const lines = text.split("\n").map((line) => line.trim());
  return lines.filter(Boolean).map((line) => {
    const [date = "", ...rest] = line.split(/\s+/);
    return { date, quiet: !rest.join(" ").startsWith("not") };
  });
}
