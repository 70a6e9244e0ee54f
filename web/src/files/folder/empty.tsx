import { useEffect, useEffectEvent } from 'react'
import { texts } from '../../texts/files.tsx'
import { Button } from '../../ui/button.tsx'
import { Icon } from '../../ui/icons.tsx'
import { chooseFiles } from '../upload/buttons.tsx'

/** Takes the place of the table in a folder that shows no entries. */
export function Empty(props: {
  isFiltered: boolean
  /** Whether the folder is all that the person sees of the storage. */
  isStorage: boolean
  canWrite: boolean
  onUp: () => void
  onNewFolder: () => void
}) {
  const { isFiltered, isStorage, canWrite, onUp, onNewFolder } = props
  const goUp = useEffectEvent(onUp)
  useEffect(() => {
    // An empty folder has no table that handles these keys.
    const onKeyDown = ({ key, altKey }: KeyboardEvent) => {
      const isUp = key === 'Backspace' || (key === 'ArrowUp' && altKey)
      if (isUp && document.activeElement === document.body) goUp()
    }
    document.addEventListener('keydown', onKeyDown)
    return () => document.removeEventListener('keydown', onKeyDown)
  }, [])
  return (
    <div className="empty">
      {isFiltered ? (
        <p>{texts.noMatches}</p>
      ) : (
        <>
          <Icon name={isStorage ? 'upload' : 'folder'} />
          <p className="empty-title">{texts.empty}</p>
          {canWrite && (
            <>
              <p>{isStorage ? texts.storageInvitation : texts.emptyInvitation}</p>
              <div className="empty-actions">
                <Button variant="primary" onPress={chooseFiles}>
                  {texts.chooseFiles}
                </Button>
                <Button onPress={onNewFolder}>{texts.createFolder}</Button>
              </div>
            </>
          )}
        </>
      )}
    </div>
  )
}
