import type { ReactNode } from 'react'
import { usePermissions } from '../api/session.ts'
import { texts } from '../texts/ui.ts'
import { PageTitle } from './page-title.tsx'

/**
 * Protects a page that only administrators have a link to but others can open by its address.
 * @param isOfWorkspace whether the page is about the whole workspace, and so for administrators without restrictions
 */
export function AdminOnly({
  title,
  isOfWorkspace = false,
  children,
}: {
  title: string
  isOfWorkspace?: boolean
  children: ReactNode
}) {
  const { isAdmin, isUnrestricted } = usePermissions()
  return (
    <>
      <PageTitle>{title}</PageTitle>
      {(isOfWorkspace ? isUnrestricted : isAdmin) ? (
        children
      ) : (
        <>
          <h1>{title}</h1>
          <p>{isOfWorkspace ? texts.unrestrictedOnly : texts.adminOnly}</p>
        </>
      )}
    </>
  )
}
