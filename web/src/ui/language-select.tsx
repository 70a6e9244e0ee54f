import { useMutation } from '@tanstack/react-query'
import { chooseLanguage, useSession } from '../api/session.ts'
import { common } from '../texts/common.ts'
import { type Language, languages, matchLanguage } from '../texts/languages.ts'
import { texts } from '../texts/ui.ts'
import { Button } from './button.tsx'
import { Dialog } from './dialog.tsx'
import { ErrorBox } from './error-box.tsx'
import { Select } from './select.tsx'

/** The languages with their own names. */
export const languageOptions: readonly { value: Language; title: string }[] = (
  Object.keys(languages) as Language[]
).map(tag => ({ value: tag, title: languages[tag].name }))

const options = [{ value: 'browser', title: texts.browserLanguage } as const, ...languageOptions]

/** Chooses the language of the person, which loads the page again. */
export function LanguageSelect() {
  const { language } = useSession().viewer.user
  const choose = useMutation({
    mutationFn: (value: Language | 'browser') => chooseLanguage(value === 'browser' ? null : value),
  })
  const saved = (language !== null && matchLanguage(language)) || 'browser'
  return (
    <>
      <Select
        label={texts.language}
        description={texts.ownLanguageHelp}
        options={options}
        value={choose.isError ? saved : (choose.variables ?? saved)}
        onChange={value => choose.mutate(value)}
      />
      {choose.error && <ErrorBox error={choose.error} />}
    </>
  )
}

export function LanguageDialog({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title={texts.language} onClose={onClose}>
      <LanguageSelect />
      <div className="dialog-actions">
        <Button onPress={onClose}>{common.close}</Button>
      </div>
    </Dialog>
  )
}
