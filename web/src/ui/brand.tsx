/** The look that a workspace gives to the pages that people see without an account. */
import { useQuery } from '@tanstack/react-query'
import type { CSSProperties } from 'react'
import { queryKeys } from '../api/query-keys.ts'
import { installation } from '../api/session.ts'
import { common } from '../texts/common.ts'
import './brand.css'

export function Logo() {
  return (
    <svg className="logo" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="7" />
      <path d="M7 11.5 16 7l9 4.5v9L16 25l-9-4.5zM7 11.5l9 4.5 9-4.5M16 16v9" />
    </svg>
  )
}

function useBranding() {
  return useQuery({ queryKey: queryKeys.installation, queryFn: installation, staleTime: 60_000 }).data?.branding ?? null
}

/** The logo of the workspace with its line of text or, without a logo, those of the product. */
export function Brand() {
  const branding = useBranding()
  return (
    <div className="welcome-brand">
      {branding?.logoUrl ? (
        <img className="brand-logo" src={pathOf(branding.logoUrl)} alt="" />
      ) : (
        <>
          <Logo />
          <span>{common.product}</span>
        </>
      )}
      {branding && branding.text !== '' && <span className="brand-text">{branding.text}</span>}
    </div>
  )
}

/** Addresses of the server go to the origin of this page, because it may have another public address. */
function pathOf(url: string): string {
  const { pathname, search } = new URL(url, location.href)
  return pathname + search
}

/** Returns the style of a page in the color of the workspace, and undefined without one. */
export function useBrandStyle(): CSSProperties | undefined {
  const color = useBranding()?.color
  if (!color) return undefined
  return { '--brand': color, '--on-brand': inkOn(color) } as CSSProperties
}

/** Returns black or white, whichever has the higher contrast on a color: WCAG 2.2, "relative luminance". */
export function inkOn(color: string): '#000000' | '#ffffff' {
  const channel = (at: number) => {
    const value = Number.parseInt(color.slice(at, at + 2), 16) / 255
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
  }
  const luminance = 0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
  return (luminance + 0.05) ** 2 > 0.05 * 1.05 ? '#000000' : '#ffffff'
}
