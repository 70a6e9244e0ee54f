import type { ReactNode } from 'react'
import { common } from '../texts/common.ts'
import { Logo } from '../ui/logo.tsx'
import { PageTitle } from '../ui/page-title.tsx'

/** The frame of the pages for people who are not signed in. */
export function Welcome({ title, children }: { title: string; children: ReactNode }) {
  return (
    <main className="welcome">
      <div className="welcome-card">
        <div className="welcome-brand">
          <Logo />
          <span>{common.product}</span>
        </div>
        <PageTitle>{title}</PageTitle>
        <h1>{title}</h1>
        {children}
      </div>
    </main>
  )
}
