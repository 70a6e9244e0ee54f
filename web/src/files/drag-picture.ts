import { texts } from '../texts/files.tsx'
import { formatNumber } from '../texts/format.ts'
import { direction } from '../texts/languages.ts'
import './drag-picture.css'

/** Pixels from the pointer to the label, which then lies below the picture. */
const [labelLeft, labelTop] = [14, 30]

/**
 * Shows what is dragged: the icon or the thumbnail of a row, with the name of one entry or the number of several. The browser takes
 * the picture at the start, so that it cannot change afterwards.
 */
export function showDragPicture({ dataTransfer, currentTarget }: DragStart, name: string, count: number): void {
  const picture = document.createElement('div')
  picture.className = 'drag-picture'
  const icon = currentTarget.querySelector('.entry-icon')?.cloneNode(true)
  if (icon) picture.append(icon)
  const text = document.createElement('span')
  text.dir = 'auto'
  text.textContent = count === 1 ? name : texts.items(count)
  picture.append(text)
  if (count > 1) {
    const badge = document.createElement('strong')
    badge.textContent = formatNumber(count)
    picture.append(badge)
  }
  document.body.append(picture)
  // The picture begins at the pointer.
  dataTransfer.setDragImage(picture, direction === 'rtl' ? picture.offsetWidth - 12 : 12, 12)
  // The element has to be in the document until the browser has taken the picture, after this event.
  setTimeout(() => picture.remove())
}

interface DragStart {
  dataTransfer: Pick<DataTransfer, 'setDragImage'>
  currentTarget: Element
}

let label: HTMLElement | null = null

/** Says beside the pointer what a drop would do. */
export function showDropLabel({ clientX, clientY }: { clientX: number; clientY: number }, text: string): void {
  if (!label) {
    label = document.createElement('div')
    label.className = 'drop-label'
    label.ariaHidden = 'true'
    document.body.append(label)
  }
  if (label.textContent !== text) label.textContent = text
  const left = Math.min(clientX + labelLeft, document.documentElement.clientWidth - label.offsetWidth - labelLeft)
  label.style.translate = `${Math.max(0, left)}px ${clientY + labelTop}px`
}

export function hideDropLabel(): void {
  label?.remove()
  label = null
}
