/** Where what message jobs say is sent: who listens, how far they are, and what holds them up. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Ellipsis, Pause, Pencil, Play, Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import { api, done, type Subscription } from "@/api/client";
import { subscriptions as query } from "@/api/queries";
import { number, plural } from "@/lib/words";
import { useMay } from "@/parts/may";
import { Moment } from "@/parts/moment";
import { Button } from "@/ui/button";
import { Confirm } from "@/ui/dialog";
import { Divider, Item, Menu } from "@/ui/menu";
import { PageHead, Panel, Table, Td, Th, Tr } from "@/ui/panel";
import { Empty, Failed, Loading } from "@/ui/states";
import { Badge } from "@/ui/status";
import { doing, say } from "@/ui/toast";
import { SubscriptionForm } from "./subscriptions/form";

const at = (id: string) => ({ params: { path: { id } } });

export function Subscriptions() {
  const may = useMay();
  const client = useQueryClient();
  const asked = useQuery(query);
  const [editing, setEditing] = useState<Subscription | "new">();
  const [removing, setRemoving] = useState<Subscription>();
  const renew = () => client.invalidateQueries({ queryKey: query.queryKey });
  const pause = async (it: Subscription) => {
    await doing(done(api.POST("/subscriptions/{id}/pause", at(it.id))), `Paused: ${it.name}`);
    await renew();
  };
  const resume = async (it: Subscription) => {
    await doing(done(api.POST("/subscriptions/{id}/resume", at(it.id))), `Resumed: ${it.name}`);
    await renew();
  };
  const remove = async (it: Subscription) => {
    await done(api.DELETE("/subscriptions/{id}", at(it.id)));
    await renew();
    say(`Deleted: ${it.name}`);
  };
  const add = may.write && (
    <Button kind="primary" onClick={() => setEditing("new")}>
      <Plus /> New subscription
    </Button>
  );
  return (
    <>
      <PageHead
        title="Subscriptions"
        lead="Message events pushed to URLs: signed, in order, each until it is taken."
      >
        {add}
      </PageHead>
      <Panel>
        {asked.isPending && <Loading />}
        {asked.isError && !asked.data && <Failed error={asked.error} retry={() => asked.refetch()} />}
        {asked.data?.items.length === 0 && (
          <Empty title="Nobody is subscribed yet" act={add}>
            Have what message jobs say sent to an endpoint of yours, as CloudEvents. Nothing is lost while it
            is away.
          </Empty>
        )}
        {asked.data && asked.data.items.length > 0 && (
          <Table label="Subscriptions">
            <thead>
              <tr>
                <Th>Subscription</Th>
                <Th>State</Th>
                <Th className="hidden md:table-cell">Hears</Th>
                <Th className="hidden sm:table-cell">Taken</Th>
                <Th className="hidden lg:table-cell">Last taken</Th>
                {may.write && (
                  <Th>
                    <span className="sr-only">Actions</span>
                  </Th>
                )}
              </tr>
            </thead>
            <tbody>
              {asked.data.items.map((it) => (
                <Row
                  key={it.id}
                  subscription={it}
                  acts={
                    may.write && (
                      <Acts
                        subscription={it}
                        onPause={() => pause(it)}
                        onResume={() => resume(it)}
                        onEdit={() => setEditing(it)}
                        onRemove={() => setRemoving(it)}
                      />
                    )
                  }
                />
              ))}
            </tbody>
          </Table>
        )}
      </Panel>
      {editing && (
        <SubscriptionForm
          subscription={editing === "new" ? undefined : editing}
          onClose={() => setEditing(undefined)}
        />
      )}
      <Confirm
        open={Boolean(removing)}
        onClose={() => setRemoving(undefined)}
        title={`Delete ${removing?.name ?? ""}`}
        act="Delete"
        danger
        onAct={async () => removing && remove(removing)}
      >
        <p>Nothing more is sent to {removing?.url}. What is being sent meanwhile may still arrive.</p>
      </Confirm>
    </>
  );
}

const TONES = { active: "good", failing: "bad", paused: "warn" } as const;

function Row({ subscription: it, acts }: { subscription: Subscription; acts: React.ReactNode }) {
  const tone = TONES[it.status as keyof typeof TONES] ?? "plain";
  return (
    <Tr>
      <Td className="wrap-anywhere min-w-44">
        <div className="font-medium">{it.name}</div>
        <div className="font-mono text-2xs text-faint">{it.url}</div>
        {it.last_error && it.status !== "active" && <div className="text-2xs text-bad">{it.last_error}</div>}
      </Td>
      <Td className="whitespace-nowrap">
        <Badge tone={tone}>{it.status}</Badge>
        {it.status === "failing" && it.next_attempt_at && (
          <div className="mt-0.5 text-2xs text-faint">
            again <Moment coming at={it.next_attempt_at} />
          </div>
        )}
        {it.pause_cause === "failure" && (
          <div className="mt-0.5 text-2xs text-faint">it failed too often</div>
        )}
      </Td>
      <Td className="wrap-anywhere hidden text-soft md:table-cell">{hears(it)}</Td>
      <Td className="tabular hidden sm:table-cell">{number.format(it.delivered)}</Td>
      <Td className="hidden lg:table-cell">
        <Moment at={it.last_delivered_at} />
      </Td>
      {acts && <Td className="w-10 py-1">{acts}</Td>}
    </Tr>
  );
}

function hears({ filter }: Subscription): string {
  const parts = [
    filter?.jobs?.length && plural(filter.jobs.length, "job"),
    filter?.name && `names like ${filter.name}`,
    filter?.tag && `the tag ${filter.tag}`,
  ].filter(Boolean);
  return parts.length > 0 ? parts.join(", ") : "everything";
}

interface ActsProps {
  subscription: Subscription;
  onPause: () => void;
  onResume: () => void;
  onEdit: () => void;
  onRemove: () => void;
}

function Acts({ subscription, onPause, onResume, onEdit, onRemove }: ActsProps) {
  return (
    <Menu
      trigger={
        <Button kind="quiet" size="icon" aria-label={`Actions for ${subscription.name}`}>
          <Ellipsis />
        </Button>
      }
    >
      {subscription.status === "paused" ? (
        <Item onSelect={onResume}>
          <Play /> Resume
        </Item>
      ) : (
        <Item onSelect={onPause}>
          <Pause /> Pause
        </Item>
      )}
      <Item onSelect={onEdit}>
        <Pencil /> Edit
      </Item>
      <Divider />
      <Item danger onSelect={onRemove}>
        <Trash2 /> Delete…
      </Item>
    </Menu>
  );
}
