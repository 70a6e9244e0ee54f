import { common } from '../texts/common.ts'
import { texts } from '../texts/files.tsx'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'

/** Lists the keys of the table of files. */
export function KeyboardHelp({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title={texts.keyboardHelp} onClose={onClose}>
      <dl className="key-list">
        {Object.values<readonly [keys: string, meaning: string]>(texts.keys).map(([keys, meaning]) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
      <div className="dialog-actions">
        <Button onPress={onClose} autoFocus>
          {common.close}
        </Button>
      </div>
    </Dialog>
  )
}
