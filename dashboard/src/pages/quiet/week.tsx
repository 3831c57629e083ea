/** The quiet hours of a week, a row for each day. */
import type { NewQuietHours } from "@/api/client";

export type Window = NonNullable<NewQuietHours["windows"]>[number];

export const DAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"] as const;
const DAY_MINUTES = 1440;

interface Part {
  from: number;
  to: number;
}

export function Week({ windows }: { windows: Window[] }) {
  const week = parts(windows);
  return (
    <div className="space-y-1 p-4" role="img" aria-label={told(windows)}>
      {DAYS.map((day, place) => (
        <div key={day} className="flex items-center gap-3">
          <span className="w-8 text-faint text-xs capitalize">{day}</span>
          <svg
            viewBox="0 0 1440 20"
            preserveAspectRatio="none"
            className="h-4 flex-1 rounded-sm bg-sunken"
            aria-hidden="true"
          >
            {week[place]?.map(({ from, to }) => (
              <rect key={`${from}-${to}`} x={from} width={to - from} height="20" className="fill-edge" />
            ))}
            {[6, 12, 18].map((hour) => (
              <line
                key={hour}
                x1={hour * 60}
                x2={hour * 60}
                y2="20"
                stroke="var(--surface)"
                strokeWidth="4"
              />
            ))}
          </svg>
        </div>
      ))}
      <div className="tabular flex justify-between pl-11 text-2xs text-faint">
        {["00", "06", "12", "18", "24"].map((hour) => (
          <span key={hour}>{hour}</span>
        ))}
      </div>
    </div>
  );
}

/** What is quiet on each day; a window that ends before it starts ends on the day after. */
function parts(windows: Window[]): Part[][] {
  const week: Part[][] = DAYS.map(() => []);
  for (const { days, start, end } of windows) {
    const [from, to] = [minutes(start), minutes(end)];
    DAYS.forEach((day, place) => {
      if (days?.length && !days.includes(day)) return;
      if (to > from) week[place]?.push({ from, to });
      else {
        week[place]?.push({ from, to: DAY_MINUTES });
        if (to > 0) week[(place + 1) % DAYS.length]?.push({ from: 0, to });
      }
    });
  }
  return week;
}

function minutes(time: string): number {
  const [hours = 0, rest = 0] = time.split(":").map(Number);
  return hours * 60 + rest;
}

function told(windows: Window[]): string {
  if (windows.length === 0) return "Quiet on no weekday";
  return windows
    .map(
      ({ days, start, end }) =>
        `Quiet from ${start} to ${end} on ${days?.length ? days.join(", ") : "every day"}`,
    )
    .join("; ");
}
