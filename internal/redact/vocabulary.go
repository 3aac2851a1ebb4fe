package redact

import (
	_ "embed"
	"strings"
	"sync"
)

// The long lists of words are text files.
var (
	//go:embed words/numbers.txt
	numbersText string
	//go:embed words/texts.txt
	textsText string
	//go:embed words/values.txt
	valuesText string
	//go:embed words/extensions.txt
	extensionsText string
)

// A value is kept only if its flag, variable or override consists of the words below. Words
// that also occur in names of secrets (key, token, pass, pin, code, session, access, auth,
// user) must never be added; harmless names with such a word are listed in harmlessNumbers and
// harmlessTexts.

// numberWords occur in names of quantities, switches and choices: numbers and known words are
// kept.
var numberWords = set(numbersText)

// textWords occur in names of things that have a name, a place or a kind: ordinary words and
// paths are kept.
var textWords = set(textsText)

// valueWords are harmless words on command lines: programs, verbs, models, data sets,
// optimizers, number formats.
var valueWords = set(valuesText)

// ambiguous words are harmless alone, but in a name they may refer to people and their
// belongings.
var ambiguous = set(`
	char command curl echo export git public set setenv share shared ssh sudo unset users wget word
`)

// harmlessNumbers and harmlessTexts are names with a word that in other names suggests a
// secret.
var (
	harmlessNumbers = set(`
		pin_memory no_pin_memory dataloader_pin_memory dataset_pin_memory use_pin_memory pin_mem no_pin_mem memory_pin persistent_pin
		eos_token_id bos_token_id pad_token_id unk_token_id mask_token_id image_token_id decoder_start_token_id image_token_len
		key_padding_mask sort_keys num_key_value_heads n_key_value_heads group_query_attention num_query_groups key_value_heads kv_channels
		early_stopping_patience keypoints num_keypoints keyframes num_keyframes one_pass num_passes passes n_passes
		ignore_keys missing_keys remove_unused_keys head_key_dim key_dim value_dim d_key d_value dim_key dim_value
		token_dropout token_dropping token_mixing token_merging token_length token_count num_token cls_token class_token distill_token
		cross_entropy_reduction multi_pass pass_at_k num_codebooks codebook_size num_codes codec`)
	harmlessTexts = set(`
		author authors image_key video_key text_key label_key  sort_key key_column pin_memory_device
		wandb_entity mlflow_experiment_name access_mode`)
)

// countsOf are the words that may accompany "tokens" in names of counts.
var countsOf = set(`
	b batch budget completion context device eval generated global gpu image in input k length m max
	micro min n new num of output per prompt sample sec second seen special step target tokens total
	train val vision warmup
`)

// secretWords suggest a secret anywhere in a name, secretParts as a whole word, secretEnds as
// the last word. For CommandLine they only lower the trust further, because it keeps nothing
// that is not listed; Text relies on them.
var (
	secretWords = []string{
		"token", "passw", "passphrase", "passcode", "pwd", "secret", "credential", "apikey", "accesskey", "privatekey",
		"authorization", "authentication",
		"cookie", "bearer", "signature", "jwt", "oauth", "webhook", "mnemonic", "sessionid", "connectionstring",
		"seedphrase", "seedword", "pincode", "securityanswer",
	}
	secretParts = set(`otp mfa totp hotp hmac nonce csrf xsrf psk cvv cvc ssn iban recovery creds cred credentials login session sid dsn salt tok`)
	secretEnds  = set(`key keys pass pw pin auth sig pat cert pem answer code codes phrase sas`)
)

// extensions lists the extensions of files whose names are kept even without a folder.
var extensions = set(extensionsText)

// set returns a set of words, which are split at its first use: most runs of the program use
// none.
func set(words string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		all := map[string]bool{}
		for _, w := range strings.Fields(words) {
			all[w] = true
		}
		return all
	})
}
