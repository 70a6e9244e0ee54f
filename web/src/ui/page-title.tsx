import { common } from '../texts/common.ts'

/** The title of the browser tab, which screen readers announce first. */
export function PageTitle({ children }: { children: string }) {
  return <title>{common.pageTitle(children)}</title>
}
