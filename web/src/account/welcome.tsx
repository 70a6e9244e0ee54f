import type { ReactNode } from 'react'
import { Logo } from '../ui/logo.tsx'

/** The frame of pages for visitors. */
export function Welcome({ title, children }: { title: string; children: ReactNode }) {
  return (
    <main className="welcome">
      <div className="welcome-card">
        <div className="welcome-brand">
          <Logo />
          <span>Stowage</span>
        </div>
        <h1>{title}</h1>
        {children}
      </div>
    </main>
  )
}
