import type { ReactNode } from 'react'
import { Brand, useBrandStyle } from './brand.tsx'
import { PageTitle } from './page.tsx'

/** A page for people who are not signed in: one card in the middle. */
export function Welcome({
  title,
  hasBrand = true,
  steps,
  children,
}: {
  title: string
  hasBrand?: boolean
  /** Shown above the title. */
  steps?: ReactNode
  children: ReactNode
}) {
  const style = useBrandStyle()
  return (
    <main className="welcome" style={style}>
      <div className="welcome-card">
        {hasBrand && <Brand />}
        <PageTitle>{title}</PageTitle>
        {steps}
        <h1>{title}</h1>
        {children}
      </div>
    </main>
  )
}
