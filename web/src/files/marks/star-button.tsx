import { common } from '../../texts/common.ts'
import { texts } from '../../texts/marks.ts'
import { Icon } from '../../ui/icons.tsx'
import './marks.css'

/** Gives an entry a star, or takes it away. */
export function StarButton({
  isStarred,
  isInTable = false,
  name,
  onPress,
}: {
  isStarred: boolean
  /** Whether a table handles the keyboard. */
  isInTable?: boolean
  /** The name of the entry, unless the row names it. */
  name?: string
  onPress: () => void
}) {
  const label = isStarred ? texts.removeStar : texts.addStar
  return (
    <button
      type="button"
      className={`star-button${isStarred ? ' starred' : ''}`}
      aria-label={name === undefined ? label : common.actionOn(label, name)}
      {...(isInTable && { tabIndex: -1 })}
      onDoubleClick={event => event.stopPropagation()}
      onClick={event => {
        event.stopPropagation()
        onPress()
      }}
    >
      <Icon name="star" />
    </button>
  )
}
