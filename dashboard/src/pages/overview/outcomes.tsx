/** Runs that succeeded and that failed, as they end. */
import { Bar, BarChart, ResponsiveContainer, Tooltip, XAxis, YAxis } from "recharts";
import type { Sample } from "@/lib/samples";
import { brief } from "@/lib/time";

/** Bars that are shown, also while there are fewer samples. */
const SHOWN = 60;

export default function Outcomes({ samples }: { samples: Sample[] }) {
  const shown = samples.slice(-SHOWN);
  const missing = Array.from({ length: SHOWN - shown.length }, (_, place) => ({
    at: -place,
    succeeded: 0,
    failed: 0,
  }));
  const data = [...missing, ...shown];
  const tick = { fontSize: 11, fill: "var(--faint)" };
  return (
    <ResponsiveContainer width="100%" height="100%">
      <BarChart
        data={data}
        margin={{ top: 0, right: 12, bottom: 0, left: 0 }}
        barCategoryGap={1}
        accessibilityLayer
      >
        <XAxis
          dataKey="at"
          tickFormatter={(at: number) => (at > 0 ? time(at) : "")}
          tick={tick}
          minTickGap={80}
          axisLine={{ stroke: "var(--line)" }}
          tickLine={false}
        />
        <YAxis width={40} allowDecimals={false} tick={tick} axisLine={false} tickLine={false} />
        <Tooltip content={Told} cursor={{ fill: "var(--hover)" }} isAnimationActive={false} />
        <Bar dataKey="succeeded" stackId="ends" fill="var(--good)" isAnimationActive={false} />
        <Bar dataKey="failed" stackId="ends" fill="var(--bad-fill)" isAnimationActive={false} />
      </BarChart>
    </ResponsiveContainer>
  );
}

function time(at: number) {
  return brief(at).split(", ")[1] ?? "";
}

function Told({ payload }: { payload?: readonly { payload?: Sample }[] }) {
  const sample = payload?.[0]?.payload;
  if (!sample || sample.at <= 0) return null;
  return (
    <div className="tabular rounded-md border bg-surface px-2.5 py-1.5 text-xs shadow-lg">
      <div className="text-faint">{time(sample.at)}</div>
      {sample.succeeded} succeeded, {sample.failed} failed
    </div>
  );
}
