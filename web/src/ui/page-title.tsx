/** The title of the browser tab, which screen readers announce first. */
export function PageTitle({ children }: { children: string }) {
  return <title>{`${children} · Stowage`}</title>
}
