import { useRef, useState } from 'react'
import { common } from '../../texts/common.ts'
import { texts } from '../../texts/design.ts'
import { texts as fileTexts } from '../../texts/files.tsx'
import { Button } from '../../ui/button.tsx'
import { Confirm } from '../../ui/dialog.tsx'
import { ActionMenu } from '../../ui/menu.tsx'

/** Components that open above a page. */
export function Overlays() {
  const anchor = useRef<HTMLSpanElement>(null)
  const [open, setOpen] = useState<'menu' | 'dialog' | null>(null)
  const close = () => setOpen(null)
  return (
    <>
      <span ref={anchor}>
        <Button onPress={() => setOpen('menu')}>{texts.menu}</Button>
      </span>
      <Button onPress={() => setOpen('dialog')}>{texts.dialog}</Button>
      {open === 'menu' && (
        <ActionMenu
          anchor={anchor}
          label={texts.menu}
          groups={[
            {
              actions: [
                { id: 'download', label: fileTexts.download, icon: 'download', run: close },
                { id: 'rename', label: fileTexts.rename, icon: 'pencil', run: close },
              ],
            },
            {
              title: fileTexts.columns,
              chosen: ['size'],
              actions: [
                { id: 'type', label: fileTexts.type, run: close },
                { id: 'size', label: fileTexts.size, run: close },
              ],
            },
            { actions: [{ id: 'delete', label: fileTexts.delete, icon: 'trash', isDanger: true, run: close }] },
          ]}
          onClose={close}
        />
      )}
      {open === 'dialog' && (
        <Confirm
          title={common.deleteTitle(texts.filled)}
          action={common.delete}
          onConfirm={async () => {}}
          onClose={close}
        >
          <p>{texts.dialogText}</p>
        </Confirm>
      )}
    </>
  )
}
