/** Of the tab, and what screen readers say first. */
export function PageTitle({ children }: { children: string }) {
  return <title>{`${children} · Stowage`}</title>
}
