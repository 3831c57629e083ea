/** What whoever is here may do. */
import { useQuery } from "@tanstack/react-query";
import { me } from "@/api/queries";

export interface May {
  /** Change jobs. */
  write: boolean;
  /** See figures and workers. */
  oversee: boolean;
  /** Change users. */
  admin: boolean;
  /** Change how oneself gets in. */
  account: boolean;
  name: string;
  role: string;
}

export function useMay(): May {
  const { data } = useQuery(me);
  const role = data?.role ?? "viewer";
  return {
    write: role !== "viewer",
    oversee: role !== "user",
    admin: role === "admin",
    account: data?.known_by === "login",
    name: data?.user?.username ?? "this machine",
    role,
  };
}
