/** When nothing fires: each policy as a week. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Pencil, Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import { api, done, type QuietHours as Policy } from "@/api/client";
import { quietHours } from "@/api/queries";
import { useMay } from "@/parts/may";
import { Button } from "@/ui/button";
import { Confirm } from "@/ui/dialog";
import { PageHead, Panel } from "@/ui/panel";
import { Empty, Failed, Loading } from "@/ui/states";
import { Badge } from "@/ui/status";
import { say } from "@/ui/toast";
import { PolicyForm } from "./quiet/form";
import { Week } from "./quiet/week";

export function QuietHours() {
  const may = useMay();
  const client = useQueryClient();
  const asked = useQuery(quietHours);
  const [editing, setEditing] = useState<Policy | "new">();
  const [removing, setRemoving] = useState<Policy>();
  const remove = async (policy: Policy) => {
    await done(api.DELETE("/quiet-hours/{id}", { params: { path: { id: policy.id } } }));
    await client.invalidateQueries({ queryKey: quietHours.queryKey });
    say(`Deleted: ${policy.name}`);
  };
  const add = may.write && (
    <Button kind="primary" onClick={() => setEditing("new")}>
      <Plus /> New policy
    </Button>
  );
  return (
    <>
      <PageHead
        title="Quiet hours"
        lead="Policies that say when nothing fires. Jobs observe them by reference."
      >
        {add}
      </PageHead>
      {asked.isPending && <Loading />}
      {asked.isError && !asked.data && <Failed error={asked.error} retry={() => asked.refetch()} />}
      {asked.data?.items.length === 0 && (
        <Panel>
          <Empty title="No quiet hours yet" act={add}>
            Keep jobs from firing at night, on weekends or on holidays; they skip those slots, or wait until
            it is over.
          </Empty>
        </Panel>
      )}
      <div className="grid gap-5 xl:grid-cols-2">
        {asked.data?.items.map((policy) => (
          <Panel
            key={policy.id}
            title={policy.name}
            aside={
              <>
                <Badge>{policy.mode === "skip" ? "skips slots" : "defers slots"}</Badge>
                <span>{policy.timezone}</span>
                {may.write && (
                  <>
                    <Button
                      kind="quiet"
                      size="icon"
                      aria-label={`Edit ${policy.name}`}
                      onClick={() => setEditing(policy)}
                    >
                      <Pencil />
                    </Button>
                    <Button
                      kind="quiet"
                      size="icon"
                      aria-label={`Delete ${policy.name}`}
                      onClick={() => setRemoving(policy)}
                    >
                      <Trash2 />
                    </Button>
                  </>
                )}
              </>
            }
          >
            <Week windows={policy.windows} />
            {policy.exceptions.length > 0 && (
              <p className="tabular border-t px-4 py-2 text-soft text-xs">
                {policy.exceptions
                  .map((it) => `${it.date} ${it.quiet ? "quiet all day" : "not quiet"}`)
                  .join(" · ")}
              </p>
            )}
          </Panel>
        ))}
      </div>
      {editing && (
        <PolicyForm policy={editing === "new" ? undefined : editing} onClose={() => setEditing(undefined)} />
      )}
      <Confirm
        open={Boolean(removing)}
        onClose={() => setRemoving(undefined)}
        title={`Delete ${removing?.name ?? ""}`}
        act="Delete"
        danger
        onAct={async () => removing && remove(removing)}
      >
        <p>It is removed for good. A policy that jobs observe stays until they no longer do.</p>
      </Confirm>
    </>
  );
}
