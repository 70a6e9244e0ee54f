import type { ReactNode } from 'react'
import { common } from '../texts/common.ts'
import { PageTitle } from './page.tsx'

export function Logo() {
  return (
    <svg className="logo" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="7" />
      <path d="M7 11.5 16 7l9 4.5v9L16 25l-9-4.5zM7 11.5l9 4.5 9-4.5M16 16v9" />
    </svg>
  )
}

/** The logo and the name of the product, for pages without the top bar. */
export function Brand() {
  return (
    <div className="welcome-brand">
      <Logo />
      <span>{common.product}</span>
    </div>
  )
}

/** A page for people who are not signed in: one card in the middle. */
export function Welcome({
  title,
  hasBrand = true,
  children,
}: {
  title: string
  hasBrand?: boolean
  children: ReactNode
}) {
  return (
    <main className="welcome">
      <div className="welcome-card">
        {hasBrand && <Brand />}
        <PageTitle>{title}</PageTitle>
        <h1>{title}</h1>
        {children}
      </div>
    </main>
  )
}
