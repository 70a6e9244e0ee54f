import { Link } from 'react-router'
import { texts } from '../../texts/marks.ts'
import { tagHref } from './operations.ts'
import './marks.css'
import { formatList } from '../../texts/format.ts'

/** The number of colors of tags. */
const hues = 8

/** Returns the number of the color of a tag, which is the same everywhere. */
export function hueOf(tag: string): number {
  let hash = 0
  for (const character of tag.toLowerCase()) hash = (hash * 31 + (character.codePointAt(0) ?? 0)) % 9973
  return hash % hues
}

/**
 * The tags of an entry, as links to everything that has them.
 * @param max the number that is shown, before a count of the others
 */
export function TagLinks({ tags, max = tags.length, isInTable = false }: TagLinksProps) {
  if (tags.length === 0) return null
  return (
    <span className="tag-links">
      {tags.slice(0, max).map(tag => (
        <Link
          key={tag}
          to={tagHref(tag)}
          className="tag"
          data-hue={hueOf(tag)}
          title={texts.openTag(tag)}
          {...(isInTable && { tabIndex: -1, draggable: false })}
          onClick={event => event.stopPropagation()}
          onDoubleClick={event => event.stopPropagation()}
        >
          {tag}
        </Link>
      ))}
      {tags.length > max && (
        <span className="tag-count" title={formatList(tags.slice(max))}>
          {texts.more(tags.length - max)}
        </span>
      )}
    </span>
  )
}

interface TagLinksProps {
  tags: readonly string[]
  max?: number
  /** Whether a table handles the keyboard. */
  isInTable?: boolean
}
