/** Finds labels whose words do not fit, as they easily do in a language that is longer than English. */
import type { Page } from 'playwright-core'

/** The labels that the console writes itself. Names of files and storages may be cut, because a tooltip has them whole. */
const labels = [
  'button',
  '.button',
  '.tab',
  '[role="tab"]',
  '[role="menuitem"]',
  '[role="columnheader"]',
  'th',
  '.badge',
  '.segment',
  '.bottom-item',
  '.nav-item',
].join(', ')
const names = '.branch, .breadcrumb, .cell-name, .suggestion, .tag, .picker-list, .brand'

/** Returns each label of the page that is cut off or leaves its box, and the page itself if it is wider than the window. */
export function clippedLabels(page: Page): Promise<string[]> {
  return page.evaluate(
    ([labels = '', names = '']) => {
      const found: string[] = []
      const root = document.documentElement
      if (root.scrollWidth > innerWidth) found.push(`the page is ${root.scrollWidth} pixels wide`)
      for (const label of document.querySelectorAll<HTMLElement>(labels)) {
        const text = label.textContent?.trim() ?? ''
        const box = label.getBoundingClientRect()
        if (text === '' || box.width < 2 || label.closest(names) || label.closest('.visually-hidden')) continue
        const style = getComputedStyle(label)
        const isCut = style.overflowX !== 'visible' && label.scrollWidth > label.clientWidth + 1
        const range = document.createRange()
        const texts = document.createTreeWalker(label, NodeFilter.SHOW_TEXT)
        let leaves = false
        for (let node = texts.nextNode(); node; node = texts.nextNode()) {
          const parent = node.parentElement
          if (!node.textContent?.trim() || !parent || parent.closest('.visually-hidden')) continue
          const isParentCut =
            getComputedStyle(parent).overflowX !== 'visible' && parent.scrollWidth > parent.clientWidth + 1
          range.selectNodeContents(node)
          const { left, right, width } = range.getBoundingClientRect()
          if (width > 0 && (isParentCut || left < box.left - 1.5 || right > box.right + 1.5)) leaves = true
        }
        if (isCut || leaves) found.push(`${label.tagName.toLowerCase()}.${label.className}: ${text.slice(0, 60)}`)
      }
      return [...new Set(found)]
    },
    [labels, names],
  )
}
