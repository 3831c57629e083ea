/** A cron expression put together by choosing, for whoever does not write one by heart. */
import { classes } from "@/lib/classes";
import { DAYS } from "../quiet/week";

type Every = "minutes" | "hour" | "day" | "week" | "month";

interface Parts {
  every: Every;
  /** Minutes between two runs. */
  step: number;
  minute: number;
  hour: number;
  /** 0 is Sunday. */
  weekdays: number[];
  /** The last day of the month is "L". */
  day: string;
}

const STEPS = [1, 2, 5, 10, 15, 20, 30];
const START: Parts = { every: "day", step: 5, minute: 0, hour: 9, weekdays: [1, 2, 3, 4, 5], day: "1" };
/** Monday first, as the week grid has it. */
const WEEKDAYS = [1, 2, 3, 4, 5, 6, 0];

/** What was chosen to make an expression; nothing if it was written otherwise. */
export function read(expression: string): Parts | undefined {
  const fields = expression.trim().split(/\s+/);
  const [minute = "", hour = "", day = "", month = "", weekday = ""] = fields;
  if (fields.length !== 5 || month !== "*") return undefined;
  const step = /^\*(?:\/(\d+))?$/.exec(minute);
  if (step && hour === "*" && day === "*" && weekday === "*") {
    const every = Number(step[1] ?? 1);
    return STEPS.includes(every) ? { ...START, every: "minutes", step: every } : undefined;
  }
  if (!/^\d+$/.test(minute) || Number(minute) > 59) return undefined;
  const at = { ...START, minute: Number(minute) };
  if (hour === "*") return day === "*" && weekday === "*" ? { ...at, every: "hour" } : undefined;
  if (!/^\d+$/.test(hour) || Number(hour) > 23) return undefined;
  const then = { ...at, hour: Number(hour) };
  if (day === "*" && weekday === "*") return { ...then, every: "day" };
  if (day === "*") {
    const weekdays = days(weekday);
    return weekdays && { ...then, every: "week", weekdays };
  }
  if (weekday === "*" && /^(L|[1-9]|[12]\d|3[01])$/.test(day)) return { ...then, every: "month", day };
  return undefined;
}

function days(text: string): number[] | undefined {
  const found = new Set<number>();
  for (const part of text.split(",")) {
    const range = /^([0-7])(?:-([0-7]))?$/.exec(part);
    if (!range) return undefined;
    const [from, to] = [Number(range[1]), Number(range[2] ?? range[1])];
    for (let day = from; day <= to; day += 1) found.add(day % 7);
  }
  return [...found];
}

export function write({ every, step, minute, hour, weekdays, day }: Parts): string {
  switch (every) {
    case "minutes":
      return step === 1 ? "* * * * *" : `*/${step} * * * *`;
    case "hour":
      return `${minute} * * * *`;
    case "day":
      return `${minute} ${hour} * * *`;
    case "week":
      return `${minute} ${hour} * * ${named(weekdays)}`;
    case "month":
      return `${minute} ${hour} ${day} * *`;
  }
}

function named(weekdays: number[]): string {
  const sorted = [...weekdays].sort((a, b) => a - b);
  const first = sorted[0] ?? 1;
  const isRun = sorted.length > 2 && sorted.every((day, place) => day === first + place);
  return isRun ? `${first}-${sorted.at(-1)}` : sorted.join(",") || "1";
}

interface Props {
  expression: string;
  onChange: (expression: string) => void;
}

export function Builder({ expression, onChange }: Props) {
  const known = read(expression);
  const parts = known ?? START;
  const set = (change: Partial<Parts>) => onChange(write({ ...parts, ...change }));
  return (
    <fieldset className="flex flex-wrap items-center gap-2 text-sm">
      <legend className="sr-only">Cron builder</legend>
      <select
        aria-label="How often"
        className="input w-auto"
        value={known ? parts.every : ""}
        onChange={({ target }) => target.value && set({ every: target.value as Every })}
      >
        <option value="">As written</option>
        <option value="minutes">Every few minutes</option>
        <option value="hour">Every hour</option>
        <option value="day">Every day</option>
        <option value="week">On weekdays</option>
        <option value="month">Every month</option>
      </select>
      {known?.every === "minutes" && (
        <select
          aria-label="Minutes between runs"
          className="input w-auto"
          value={parts.step}
          onChange={({ target }) => set({ step: Number(target.value) })}
        >
          {STEPS.map((step) => (
            <option key={step} value={step}>
              {step === 1 ? "every minute" : `every ${step} minutes`}
            </option>
          ))}
        </select>
      )}
      {known?.every === "week" && (
        <Weekdays weekdays={parts.weekdays} onChange={(weekdays) => set({ weekdays })} />
      )}
      {known?.every === "month" && (
        <select
          aria-label="Day of the month"
          className="input w-auto"
          value={parts.day}
          onChange={({ target }) => set({ day: target.value })}
        >
          {Array.from({ length: 31 }, (_, day) => String(day + 1)).map((day) => (
            <option key={day}>{day}</option>
          ))}
          <option value="L">last</option>
        </select>
      )}
      {known?.every === "hour" && (
        <label className="flex items-center gap-1.5 text-faint text-xs">
          at minute
          <input
            type="number"
            min={0}
            max={59}
            className="input w-16"
            value={parts.minute}
            onChange={({ target }) => set({ minute: Math.min(59, Math.max(0, Number(target.value))) })}
          />
        </label>
      )}
      {known && ["day", "week", "month"].includes(known.every) && (
        <label className="flex items-center gap-1.5 text-faint text-xs">
          at
          <input
            type="time"
            aria-label="Time of day"
            className="input w-28"
            value={`${two(parts.hour)}:${two(parts.minute)}`}
            onChange={({ target }) => {
              const [hour, minute] = target.value.split(":").map(Number);
              if (hour !== undefined && minute !== undefined) set({ hour, minute });
            }}
          />
        </label>
      )}
    </fieldset>
  );
}

function Weekdays({ weekdays, onChange }: { weekdays: number[]; onChange: (days: number[]) => void }) {
  return (
    <span className="flex gap-1">
      {WEEKDAYS.map((day, place) => {
        const on = weekdays.includes(day);
        const name = DAYS[place] ?? "";
        return (
          <button
            key={day}
            type="button"
            aria-pressed={on}
            onClick={() => {
              const next = on ? weekdays.filter((it) => it !== day) : [...weekdays, day];
              if (next.length > 0) onChange(next);
            }}
            className={classes(
              "h-7 w-9 rounded border text-2xs capitalize",
              "aria-pressed:border-ink aria-pressed:bg-ink aria-pressed:text-on-ink",
            )}
          >
            {name}
          </button>
        );
      })}
    </span>
  );
}

function two(value: number): string {
  return String(value).padStart(2, "0");
}
