import type { ReactNode } from 'react'
import { useScopes } from '../app/use-session.ts'
import { PageTitle } from '../ui/page-title.tsx'

/** For whoever comes by an address that they have no link to. */
export function AdminOnly({ title, children }: { title: string; children: ReactNode }) {
  const { isAdmin } = useScopes()
  if (isAdmin)
    return (
      <>
        <PageTitle>{title}</PageTitle>
        {children}
      </>
    )
  return (
    <>
      <PageTitle>{title}</PageTitle> <h1>{title}</h1>
      <p>Only administrators can see this page: ask one of them.</p>
    </>
  )
}
