/** How long a job's runs took, oldest first. */
import { Bar, BarChart, Cell, ResponsiveContainer, Tooltip, XAxis, YAxis } from "recharts";
import type { Execution } from "@/api/client";
import { brief, span } from "@/lib/time";
import { statusInWords, toneOf } from "@/lib/words";

export default function Durations({ executions }: { executions: Execution[] }) {
  const data = executions.toReversed().map((it) => ({
    id: it.id,
    at: it.started_at ?? it.run_at,
    ms: it.duration_ms ?? 0,
    status: it.status,
  }));
  return (
    <ResponsiveContainer width="100%" height="100%">
      <BarChart data={data} margin={{ top: 4, right: 8, bottom: 0, left: 8 }} accessibilityLayer>
        <XAxis
          dataKey="at"
          tickFormatter={(at: string) => brief(at)}
          tick={{ fontSize: 11, fill: "var(--faint)" }}
          minTickGap={60}
          axisLine={{ stroke: "var(--line)" }}
          tickLine={false}
        />
        <YAxis
          width={56}
          tickFormatter={(ms: number) => span(ms)}
          tick={{ fontSize: 11, fill: "var(--faint)" }}
          axisLine={false}
          tickLine={false}
        />
        <Tooltip content={Told} cursor={{ fill: "var(--hover)" }} isAnimationActive={false} />
        <Bar dataKey="ms" maxBarSize={18} minPointSize={2} isAnimationActive={false} radius={[2, 2, 0, 0]}>
          {data.map((it) => (
            <Cell key={it.id} fill={toneOf(it.status) === "bad" ? "var(--bad-fill)" : "var(--edge)"} />
          ))}
        </Bar>
      </BarChart>
    </ResponsiveContainer>
  );
}

interface Point {
  at: string;
  ms: number;
  status: string;
}

function Told({ payload }: { payload?: readonly { payload?: Point }[] }) {
  const point = payload?.[0]?.payload;
  if (!point) return null;
  return (
    <div className="tabular rounded-md border bg-surface px-2.5 py-1.5 text-xs shadow-lg">
      <div className="text-faint">{brief(point.at)}</div>
      {statusInWords(point.status)} after {span(point.ms)}
    </div>
  );
}
