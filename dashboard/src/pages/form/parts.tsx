/** The parts of the form that are not about time: what a job does, and what is done when that goes wrong. */
import { useQuery } from "@tanstack/react-query";
import { Plus, X } from "lucide-react";
import { quietHours } from "@/api/queries";
import { Button } from "@/ui/button";
import { Area, Choice, Field, Input, Select } from "@/ui/field";
import type { Draft, Header } from "./draft";
import { JsonArea } from "./json-area";

export interface PartProps {
  draft: Draft;
  set: (change: Partial<Draft>) => void;
  /** What is wrong, by the fields of the API. */
  errors: Record<string, string>;
}

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"];

export function TargetFields({ draft, set, errors }: PartProps) {
  const options: { value: Draft["target"]; label: string }[] = [
    { value: "http", label: "Call an endpoint" },
    { value: "message", label: "Say a message" },
    { value: "handler", label: "Call a handler" },
  ];
  return (
    <div className="space-y-4">
      <Choice
        label="What it does"
        value={draft.target}
        onChange={(target) => set({ target })}
        options={options}
      />
      {draft.target === "http" && <HttpFields draft={draft} set={set} errors={errors} />}
      {draft.target === "message" && (
        <>
          <Field
            label="Text"
            hint="May hold {{job_name}}, {{slot}}, {{now}}, {{missed_count}} and {{schedule_id}}."
            error={errors["target.template.text"] ?? errors["target.template"]}
          >
            <Area value={draft.text} onChange={({ target }) => set({ text: target.value })} />
          </Field>
          <Field
            label="Structured"
            hint="Any JSON, for programs; its strings may hold the same."
            error={errors["target.template.structured"]}
          >
            <JsonArea value={draft.structured} onChange={(structured) => set({ structured })} />
          </Field>
        </>
      )}
      {draft.target === "handler" && (
        <Field
          label="Handler"
          hint="The name that a program registered it under, in the process that runs the jobs."
          error={errors["target.name"] ?? errors.target}
        >
          <Input value={draft.handler} onChange={({ target }) => set({ handler: target.value })} />
        </Field>
      )}
    </div>
  );
}

function HttpFields({ draft, set, errors }: PartProps) {
  return (
    <>
      <div className="grid grid-cols-[6.5rem_1fr] gap-3">
        <Field label="Method" error={errors["target.method"]}>
          <Select value={draft.method} onChange={({ target }) => set({ method: target.value })}>
            {METHODS.map((method) => (
              <option key={method}>{method}</option>
            ))}
          </Select>
        </Field>
        <Field label="URL" error={errors["target.url"]}>
          <Input
            type="url"
            className="font-mono"
            placeholder="https://example.com/reports"
            required
            value={draft.url}
            onChange={({ target }) => set({ url: target.value })}
          />
        </Field>
      </div>
      <Headers draft={draft} set={set} errors={errors} />
      <Field
        label="Payload"
        hint="The body of the request: JSON, or text that is sent as it is."
        error={errors.payload}
      >
        <JsonArea
          rows={5}
          placeholder='{"pages": 3}'
          value={draft.payload}
          onChange={(payload) => set({ payload })}
        />
      </Field>
      <details className="text-sm">
        <summary className="text-soft hover:text-ink">Answer and signature</summary>
        <div className="mt-3 grid gap-4 sm:grid-cols-2">
          <Field label="Answer within, in seconds" error={errors["target.timeout_seconds"]}>
            <Input
              type="number"
              step="any"
              min={0}
              placeholder="30"
              value={draft.timeout}
              onChange={({ target }) => set({ timeout: target.value })}
            />
          </Field>
          <Field
            label="Statuses that are a success"
            hint="200 to 299 if empty."
            error={errors["target.expected_statuses"]}
          >
            <Input
              value={draft.statuses}
              onChange={({ target }) => set({ statuses: target.value })}
              placeholder="200, 202"
            />
          </Field>
          <Field
            label="Signing secret"
            hint="Signs requests by Standard Webhooks."
            error={errors["target.signing_secret"]}
            className="sm:col-span-2"
          >
            <Input
              className="font-mono"
              autoComplete="off"
              placeholder="whsec_…"
              value={draft.signingSecret}
              onChange={({ target }) => set({ signingSecret: target.value })}
            />
          </Field>
        </div>
      </details>
    </>
  );
}

function Headers({ draft, set, errors }: PartProps) {
  const change = (key: number, part: Partial<Header>) =>
    set({ headers: draft.headers.map((row) => (row.key === key ? { ...row, ...part } : row)) });
  const add = () => {
    const key = Math.max(0, ...draft.headers.map((row) => row.key)) + 1;
    set({ headers: [...draft.headers, { key, name: "", value: "", secret: false }] });
  };
  const wrong = Object.entries(errors).filter(([field]) => field.startsWith("target.headers"));
  return (
    <fieldset className="space-y-2">
      <legend className="mb-1 font-medium text-sm">Headers</legend>
      {draft.headers.map((row) => (
        <div key={row.key} className="flex flex-wrap items-center gap-2">
          <Input
            aria-label="Name of the header"
            className="w-36 grow font-mono sm:grow-0"
            placeholder="X-Team"
            value={row.name}
            onChange={({ target }) => change(row.key, { name: target.value })}
          />
          <Input
            aria-label={`Value of ${row.name || "the header"}`}
            className="w-40 grow font-mono"
            type={row.secret ? "password" : "text"}
            autoComplete="off"
            value={row.value}
            onChange={({ target }) => change(row.key, { value: target.value })}
          />
          <label className="flex items-center gap-1.5 text-sm text-soft">
            <input
              type="checkbox"
              className="accent-(--ink)"
              checked={row.secret}
              onChange={({ target }) => change(row.key, { secret: target.checked })}
            />
            Secret
          </label>
          <Button
            kind="quiet"
            size="icon"
            aria-label={`Remove ${row.name || "the header"}`}
            onClick={() => set({ headers: draft.headers.filter((it) => it.key !== row.key) })}
          >
            <X />
          </Button>
        </div>
      ))}
      {wrong.map(([field, text]) => (
        <p key={field} role="alert" className="text-bad text-xs">
          {field.replace("target.headers.", "")}: {text}
        </p>
      ))}
      <Button size="small" onClick={add}>
        <Plus /> Header
      </Button>
    </fieldset>
  );
}

interface NumberProps extends PartProps {
  label: string;
  name: keyof Draft;
  field: string;
  hint?: string;
  placeholder?: string;
}

function Numeric({ draft, set, errors, label, name, field, hint, placeholder }: NumberProps) {
  return (
    <Field label={label} hint={hint} error={errors[field]}>
      <Input
        type="number"
        step="any"
        placeholder={placeholder}
        value={String(draft[name])}
        onChange={({ target }) => set({ [name]: target.value })}
      />
    </Field>
  );
}

export function PolicyFields(props: PartProps) {
  const { draft, set, errors } = props;
  const policies = useQuery(quietHours);
  return (
    <div className="grid gap-4 sm:grid-cols-2 lg:grid-cols-3">
      <Numeric
        {...props}
        label="Retries"
        name="maxRetry"
        field="max_retry"
        hint="Attempts after the first."
      />
      <Numeric {...props} label="First retry after, in seconds" name="retryBase" field="retry_base_seconds" />
      <Numeric {...props} label="Longest wait, in seconds" name="retryMax" field="retry_max_seconds" />
      <Numeric
        {...props}
        label="Stopped after, in seconds"
        name="maxExecution"
        field="max_execution_time"
        placeholder="300"
      />
      <Field label="While a run goes on" error={errors.overlap_policy}>
        <Select value={draft.overlap} onChange={({ target }) => set({ overlap: target.value })}>
          <option value="">as is usual</option>
          <option value="skip">skip the slot</option>
          <option value="queue">wait for it</option>
          <option value="concurrent">run beside it</option>
          <option value="replace">stop it, run anew</option>
        </Select>
      </Field>
      {draft.overlap === "concurrent" && (
        <Numeric
          {...props}
          label="At once, at most"
          name="atOnce"
          field="max_concurrent"
          hint="Left empty, as many as there are."
        />
      )}
      {draft.overlap === "queue" && (
        <Numeric
          {...props}
          label="Waiting, at most"
          name="queued"
          field="max_queued"
          hint="What comes on top is skipped."
        />
      )}
      <Field label="Missed slots" error={errors.catch_up_policy}>
        <Select value={draft.catchUp} onChange={({ target }) => set({ catchUp: target.value })}>
          <option value="">as is usual</option>
          <option value="skip">are skipped</option>
          <option value="run_once">run once, together</option>
          <option value="run_all_capped">run one by one</option>
        </Select>
      </Field>
      {draft.catchUp === "run_all_capped" && (
        <Numeric
          {...props}
          label="Of them, at most"
          name="catchUpMax"
          field="catch_up_max"
          placeholder="10"
          hint="The rest is skipped, and said to be."
        />
      )}
      <Numeric
        {...props}
        label="Not missed longer ago than, in seconds"
        name="catchUpWindow"
        field="catch_up_window_seconds"
        hint="What is older is skipped."
      />
      <Numeric
        {...props}
        label="On time within, in seconds"
        name="grace"
        field="misfire_grace_seconds"
        hint="A slot that is later counts as missed."
      />
      <Field label="Quiet hours" error={errors.quiet_hours_policy_id}>
        <Select value={draft.quiet} onChange={({ target }) => set({ quiet: target.value })}>
          <option value="">none</option>
          {policies.data?.items.map((policy) => (
            <option key={policy.id} value={policy.id}>
              {policy.name}
            </option>
          ))}
        </Select>
      </Field>
      {draft.target !== "message" && (
        <Numeric
          {...props}
          label="Jitter, in seconds"
          name="jitter"
          field="jitter_seconds"
          hint="Spreads the start over this long."
        />
      )}
      <Numeric {...props} label="Priority" name="priority" field="priority" />
    </div>
  );
}
