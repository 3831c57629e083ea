/** How long the newest runs took, in little. */
import type { RecentRun } from "@/api/client";
import { span } from "@/lib/time";
import { plural, toneOf } from "@/lib/words";

const WIDTH = 3;
const HEIGHT = 20;
/** Bars that there is room for. */
const SHOWN = 20;

export function Sparkline({ runs }: { runs: RecentRun[] | undefined }) {
  if (!runs || runs.length === 0) return <span className="text-faint">–</span>;
  const shown = runs.slice(0, SHOWN).toReversed();
  const longest = Math.max(1, ...shown.map((run) => run.duration_ms));
  const failed = shown.filter((run) => toneOf(run.status) === "bad").length;
  return (
    <svg
      role="img"
      width={SHOWN * WIDTH}
      height={HEIGHT}
      aria-label={`${plural(shown.length, "run")}, up to ${span(longest)}, ${failed} failed`}
    >
      {shown.map((run, place) => {
        const height = Math.max(2, (run.duration_ms / longest) * HEIGHT);
        return (
          <rect
            // biome-ignore lint/suspicious/noArrayIndexKey: bars have nothing but their place
            key={place}
            x={(SHOWN - shown.length + place) * WIDTH}
            y={HEIGHT - height}
            width={WIDTH - 1}
            height={height}
            className={toneOf(run.status) === "bad" ? "fill-bad-fill" : "fill-edge"}
          />
        );
      })}
    </svg>
  );
}
