import type { ReactNode } from 'react'
import { usePermissions } from '../api/session.ts'
import { common } from '../texts/common.ts'
import { texts } from '../texts/ui.ts'

/** The title of the browser tab, which screen readers announce first. */
export function PageTitle({ children }: { children: string }) {
  return <title>{common.pageTitle(children)}</title>
}

/** The title and the heading of a page, with its main actions beside it. */
export function PageHead({
  title,
  heading = title,
  children,
}: {
  title: string
  heading?: string
  children?: ReactNode
}) {
  return (
    <>
      <PageTitle>{title}</PageTitle>
      <div className="page-head">
        <h1>{heading}</h1>
        {children}
      </div>
    </>
  )
}

/**
 * Protects a page that only administrators have a link to but others can open by its address.
 * @param needsUnrestricted whether only administrators with access to all storages see the page
 */
export function AdminOnly({
  title,
  needsUnrestricted = false,
  children,
}: {
  title: string
  needsUnrestricted?: boolean
  children: ReactNode
}) {
  const { isAdmin, isUnrestricted } = usePermissions()
  if (needsUnrestricted ? isUnrestricted : isAdmin) return children
  return (
    <>
      <PageTitle>{title}</PageTitle>
      <h1>{title}</h1>
      <p>{needsUnrestricted ? texts.unrestrictedOnly : texts.adminOnly}</p>
    </>
  )
}
