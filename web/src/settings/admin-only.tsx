import type { ReactNode } from 'react'
import { useScopes } from '../app/use-session.ts'

/** For whoever comes by an address that they have no link to. */
export function AdminOnly({ title, children }: { title: string; children: ReactNode }) {
  const { isAdmin } = useScopes()
  if (isAdmin) return children
  return (
    <>
      <h1>{title}</h1>
      <p>Only administrators can see this page: ask one of them.</p>
    </>
  )
}
