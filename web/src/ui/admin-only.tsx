import type { ReactNode } from 'react'
import { usePermissions } from '../api/use-session.ts'
import { texts } from '../texts/ui.ts'
import { PageTitle } from './page-title.tsx'

/** Protects a page that only administrators have a link to but others can open by its address. */
export function AdminOnly({ title, children }: { title: string; children: ReactNode }) {
  const { isAdmin } = usePermissions()
  return (
    <>
      <PageTitle>{title}</PageTitle>
      {isAdmin ? (
        children
      ) : (
        <>
          <h1>{title}</h1>
          <p>{texts.adminOnly}</p>
        </>
      )}
    </>
  )
}
