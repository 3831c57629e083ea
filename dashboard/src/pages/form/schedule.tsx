/** When a job runs: written, told in words, and shown as the next ten runs while it is written. */
import { useQuery } from "@tanstack/react-query";
import { useDeferredValue, useEffect, useState } from "react";
import type { Run, Schedule } from "@/api/client";
import { fieldsOf, inWords } from "@/api/problem";
import { preview } from "@/api/queries";
import { absolute, here, inZone, relative, useNow } from "@/lib/time";
import { Choice, Field, Input, Select } from "@/ui/field";
import { Badge } from "@/ui/status";
import { Builder } from "./builder";
import { type Draft, scheduleOf, UNITS, type Unit } from "./draft";
import type { PartProps } from "./parts";
import { Strip } from "./strip";

/** How long somebody stops writing before what they wrote is looked at. */
const STILL_MS = 250;

const UNIT_NAMES: Record<Unit, string> = { s: "seconds", min: "minutes", h: "hours", d: "days" };
const ZONES = Intl.supportedValuesOf("timeZone");

export function ScheduleFields({ draft, set, errors }: PartProps) {
  return (
    <div className="space-y-4">
      <datalist id="zones">
        {ZONES.map((zone) => (
          <option key={zone} value={zone} />
        ))}
      </datalist>
      <Choice
        label="Kind of schedule"
        value={draft.kind}
        onChange={(kind) => set({ kind })}
        options={[
          { value: "cron", label: "Cron" },
          { value: "interval", label: "Interval" },
          { value: "one_shot", label: "Once" },
        ]}
      />
      {draft.kind === "cron" && (
        <>
          <div className="grid gap-4 sm:grid-cols-2">
            <Field
              label="Expression"
              hint="Minute, hour, day, month, weekday; with a second first if you like."
              error={errors["schedule.expression"]}
            >
              <Input
                className="font-mono"
                value={draft.expression}
                onChange={({ target }) => set({ expression: target.value })}
                spellCheck={false}
                required
              />
            </Field>
            <Field label="Time zone" error={errors["schedule.timezone"]}>
              <Input
                list="zones"
                value={draft.timezone}
                onChange={({ target }) => set({ timezone: target.value })}
              />
            </Field>
          </div>
          <Builder expression={draft.expression} onChange={(expression) => set({ expression })} />
        </>
      )}
      {draft.kind === "interval" && (
        <div className="grid gap-4 sm:grid-cols-[8rem_10rem_1fr]">
          <Field label="Every" error={errors["schedule.seconds"]}>
            <Input
              type="number"
              min={1}
              required
              value={draft.every}
              onChange={({ target }) => set({ every: target.value })}
            />
          </Field>
          <Field label="Unit">
            <Select value={draft.unit} onChange={({ target }) => set({ unit: target.value as Unit })}>
              {Object.keys(UNITS).map((unit) => (
                <option key={unit} value={unit}>
                  {UNIT_NAMES[unit as Unit]}
                </option>
              ))}
            </Select>
          </Field>
          <Field label="Counted from">
            <Select
              value={String(draft.fixedDelay)}
              onChange={({ target }) => set({ fixedDelay: target.value === "true" })}
            >
              <option value="false">one slot to the next</option>
              <option value="true">the end of the run before</option>
            </Select>
          </Field>
        </div>
      )}
      {draft.kind === "one_shot" && (
        <div className="grid gap-4 sm:grid-cols-2">
          <Field label="At" hint="Left empty, it runs now." error={errors["schedule.at"]}>
            <Input
              type="datetime-local"
              step={1}
              value={draft.at}
              onChange={({ target }) => set({ at: target.value })}
            />
          </Field>
          <Field label="On the clocks of" hint={sameTime(draft)} error={errors.timezone}>
            <Input
              list="zones"
              value={draft.timezone}
              onChange={({ target }) => set({ timezone: target.value })}
            />
          </Field>
        </div>
      )}
      {draft.kind !== "one_shot" && <Bounds draft={draft} set={set} errors={errors} />}
    </div>
  );
}

/** The same instant on the clocks of whoever writes, where those are others. */
function sameTime({ at, timezone }: Draft): string | undefined {
  const instant = at ? inZone(at, timezone) : undefined;
  return instant && timezone !== here ? `${absolute(instant)} ${here}` : undefined;
}

function Bounds({ draft, set, errors }: PartProps) {
  const used = Boolean(draft.startAt || draft.endAt || draft.maxRuns);
  return (
    <details open={used} className="text-sm">
      <summary className="text-soft hover:text-ink">Only for a while</summary>
      <div className="mt-3 grid gap-4 sm:grid-cols-3">
        <Field label="From" error={errors["schedule.start_at"]}>
          <Input
            type="datetime-local"
            value={draft.startAt}
            onChange={({ target }) => set({ startAt: target.value })}
          />
        </Field>
        <Field label="Until" error={errors["schedule.end_at"]}>
          <Input
            type="datetime-local"
            value={draft.endAt}
            onChange={({ target }) => set({ endAt: target.value })}
          />
        </Field>
        <Field label="At most so many runs" error={errors["schedule.max_runs"]}>
          <Input
            type="number"
            min={1}
            value={draft.maxRuns}
            onChange={({ target }) => set({ maxRuns: target.value })}
          />
        </Field>
      </div>
    </details>
  );
}

/** What the schedule means, as the scheduler says while it is written. */
export function Meaning({ draft }: { draft: Draft }) {
  const still = useStill(useDeferredValue(draft));
  const schedule = scheduleOf(still);
  const jitter = still.target === "message" ? 0 : Number(still.jitter) || 0;
  const asked = useQuery({
    ...preview(schedule, jitter || undefined, still.quiet || undefined),
    enabled: isComplete(schedule),
  });
  if (asked.isError) {
    const said = fieldsOf(asked.error)["schedule.expression"] ?? inWords(asked.error);
    return (
      <p role="alert" className="wrap-anywhere text-bad text-sm">
        {said}
      </p>
    );
  }
  if (!asked.data) return <p className="text-faint text-sm">The next runs are shown here.</p>;
  return (
    <div aria-live="polite">
      <p className="wrap-anywhere mb-3 font-medium text-sm" data-testid="description">
        {asked.data.description}
      </p>
      <Strip runs={asked.data.runs} zone={schedule.type === "cron" ? schedule.timezone : undefined} />
      {asked.data.runs.length === 0 && <p className="text-faint text-sm">No run is to come.</p>}
      <ol className="divide-y">
        {asked.data.runs.map((run) => (
          <Coming
            key={run.nominal}
            run={run}
            zone={schedule.type === "cron" ? schedule.timezone : undefined}
          />
        ))}
      </ol>
      {schedule.type === "cron" && schedule.timezone && (
        <p className="mt-3 text-faint text-xs">
          Times are of {schedule.timezone}
          {schedule.timezone !== here && `; point at one for those of ${here}`}.
        </p>
      )}
    </div>
  );
}

function Coming({ run, zone }: { run: Run; zone: string | undefined }) {
  const now = useNow();
  const at = run.effective ?? run.nominal;
  return (
    <li className="py-1.5 text-sm" title={`${absolute(at)} ${here}`}>
      <div className="flex items-baseline justify-between gap-3">
        <span className={run.effective ? "tabular" : "tabular text-faint line-through"}>
          {absolute(at, zone)}
        </span>
        <span className="tabular whitespace-nowrap text-faint text-xs">{relative(Date.parse(at), now)}</span>
      </div>
      {run.reasons.length > 0 && (
        <div className="mt-0.5 flex flex-wrap gap-1">
          {run.reasons.map((reason) => (
            <Badge key={reason} tone="warn">
              {reason}
            </Badge>
          ))}
        </div>
      )}
    </li>
  );
}

function isComplete(schedule: Schedule) {
  if (schedule.type === "cron") return schedule.expression.trim() !== "";
  return schedule.type === "one_shot" || schedule.seconds > 0;
}

function useStill<T>(value: T): T {
  const [still, setStill] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setStill(value), STILL_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return still;
}
