/** Times and spans for people. */
import { useSyncExternalStore } from "react";

const listeners = new Set<() => void>();
let second = Math.floor(Date.now() / 1000);
let timer: ReturnType<typeof setInterval> | undefined;

/** The time now, to the second; whatever uses it is drawn anew when it changes. */
export function useNow(): number {
  return useSyncExternalStore(listen, () => second) * 1000;
}

function listen(listener: () => void) {
  listeners.add(listener);
  timer ??= setInterval(() => {
    second = Math.floor(Date.now() / 1000);
    for (const each of listeners) each();
  }, 1000);
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) {
      clearInterval(timer);
      timer = undefined;
    }
  };
}

/** "in 3 min", "2 h ago", "now". */
export function relative(at: number, now: number): string {
  const seconds = Math.round((at - now) / 1000);
  if (Math.abs(seconds) < 1) return "now";
  const text = coarse(Math.abs(seconds));
  return seconds > 0 ? `in ${text}` : `${text} ago`;
}

function coarse(seconds: number): string {
  if (seconds < 90) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 90) return `${minutes} min`;
  const hours = Math.round(minutes / 60);
  if (hours < 36) return `${hours} h`;
  const days = Math.round(hours / 24);
  if (days < 60) return `${days} days`;
  const months = Math.round(days / 30.44);
  return months < 24 ? `${months} months` : `${Math.round(days / 365.25)} years`;
}

/** How long something took, or may take. */
export function span(ms: number): string {
  if (ms < 1) return "<1 ms";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${Number((ms / 1000).toFixed(ms < 10_000 ? 2 : 1))} s`;
  const seconds = Math.round(ms / 1000);
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return parts(minutes, "min", seconds % 60, "s");
  return parts(Math.floor(minutes / 60), "h", minutes % 60, "min");
}

function parts(most: number, unit: string, rest: number, smaller: string): string {
  return rest === 0 ? `${most} ${unit}` : `${most} ${unit} ${rest} ${smaller}`;
}

/** The zone of whoever reads. */
export const here = Intl.DateTimeFormat().resolvedOptions().timeZone;

const formats = new Map<string, Intl.DateTimeFormat>();

function format(zone: string | undefined, options: Intl.DateTimeFormatOptions) {
  const key = `${zone}${JSON.stringify(options)}`;
  let found = formats.get(key);
  if (!found) {
    found = new Intl.DateTimeFormat("en-GB", { ...options, timeZone: zone });
    formats.set(key, found);
  }
  return found;
}

/** "Mon 1 Dec 2026, 09:00:00", in the reader's zone unless another is named. */
export function absolute(at: string | number, zone?: string): string {
  return format(zone, {
    weekday: "short",
    day: "numeric",
    month: "short",
    year: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
  }).format(new Date(at));
}

/** "1 Dec, 09:00:00", for tables. */
export function brief(at: string | number, zone?: string): string {
  return format(zone, {
    day: "numeric",
    month: "short",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
  }).format(new Date(at));
}

/** A time as a field of the reader's zone takes it. */
export function toLocalField(at: string): string {
  const date = new Date(at);
  const shifted = new Date(date.getTime() - date.getTimezoneOffset() * 60_000);
  return shifted.toISOString().slice(0, 19);
}

export function fromLocalField(field: string): string | undefined {
  const date = new Date(field);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}

/** The instant of a field's wall-clock time in a zone; where clocks show it twice, the first, and where they skip it, just after. */
export function inZone(field: string, zone: string): string | undefined {
  const wall = Date.parse(`${field.length === 16 ? `${field}:00` : field}Z`);
  if (Number.isNaN(wall)) return undefined;
  try {
    // Offsets before and after tell all that the time may have.
    const offsets = [wall - DAY_MS, wall + DAY_MS].map((at) => wallClock(at, zone) - at);
    const fitting = offsets.map((offset) => wall - offset).filter((at) => wallClock(at, zone) === wall);
    return new Date(fitting[0] ?? wall - Math.min(...offsets)).toISOString();
  } catch {
    return fromLocalField(field);
  }
}

const DAY_MS = 86_400_000;

/** What the clocks of a zone show, as if it were universal time. */
function wallClock(at: number, zone: string): number {
  const parts = format(zone, {
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    hourCycle: "h23",
  }).formatToParts(new Date(at));
  const of = (type: string) => Number(parts.find((part) => part.type === type)?.value);
  return Date.UTC(of("year"), of("month") - 1, of("day"), of("hour"), of("minute"), of("second"));
}

/** A sentence with its instants on the clocks of a zone, or of whoever reads. */
export function inLocalTimes(text: string, zone?: string): string {
  return text.replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, (at) => brief(at, zone));
}
