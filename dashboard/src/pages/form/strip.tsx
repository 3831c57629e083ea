/** The next runs on a calendar: a day for each row, its hours across, and marks where something moves or stops a run. */
import type { Run } from "@/api/client";
import { absolute } from "@/lib/time";
import { plural } from "@/lib/words";

/** Days that are drawn; runs further away are in the list below. */
const DAYS = 10;
const WIDTH = 240;
const ROW = 14;

interface Spot {
  run: Run;
  day: string;
  /** How far into the day it is, from 0 to 1. */
  part: number;
}

export function Strip({ runs, zone }: { runs: Run[]; zone: string | undefined }) {
  if (runs.length < 2) return null;
  const spots = runs.map((run) => spot(run, zone));
  const days = [...new Set(spots.map((it) => it.day))].slice(0, DAYS);
  const shown = spots.filter((it) => days.includes(it.day));
  const moved = runs.filter((run) => run.reasons.length > 0).length;
  return (
    <svg
      role="img"
      aria-label={`Calendar of ${plural(shown.length, "run")} on ${plural(days.length, "day")}, ${moved} of them moved or stopped`}
      viewBox={`0 0 ${WIDTH + 64} ${days.length * ROW + 12}`}
      className="mb-3 w-full"
    >
      {[0, 6, 12, 18, 24].map((hour) => (
        <g key={hour}>
          <line
            x1={64 + (hour / 24) * WIDTH}
            x2={64 + (hour / 24) * WIDTH}
            y1={0}
            y2={days.length * ROW}
            className="stroke-line"
          />
          {hour < 24 && (
            <text
              x={64 + (hour / 24) * WIDTH + 2}
              y={days.length * ROW + 9}
              className="fill-faint text-[8px]"
            >
              {String(hour).padStart(2, "0")}
            </text>
          )}
        </g>
      ))}
      {days.map((day, place) => (
        <g key={day} transform={`translate(0 ${place * ROW})`}>
          <text x={0} y={10} className="fill-soft text-[9px]">
            {day}
          </text>
          <rect x={64} y={2} width={WIDTH} height={ROW - 4} rx={2} className="fill-sunken" />
          {shown
            .filter((it) => it.day === day)
            .map(({ run, part }) => (
              <rect
                key={run.nominal}
                x={64 + part * (WIDTH - 3)}
                y={2}
                width={3}
                height={ROW - 4}
                rx={1}
                className={tone(run)}
              >
                <title>{[absolute(run.effective ?? run.nominal, zone), ...run.reasons].join("\n")}</title>
              </rect>
            ))}
        </g>
      ))}
    </svg>
  );
}

function tone(run: Run): string {
  if (!run.effective) return "fill-bad-fill";
  return run.reasons.length > 0 ? "fill-warn" : "fill-accent";
}

function spot(run: Run, zone: string | undefined): Spot {
  const text = absolute(run.effective ?? run.nominal, zone);
  // "Mon 1 Dec 2026, 09:00:00", in whichever spelling the browser has it.
  const [, hours = "0", minutes = "0"] = /(\d\d):(\d\d):\d\d$/.exec(text) ?? [];
  const day = text.replace(/,? \d{4}.*$/, "");
  return { run, day, part: (Number(hours) + Number(minutes) / 60) / 24 };
}
