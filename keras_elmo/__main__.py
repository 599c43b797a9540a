"""`python -m keras_elmo` is `keras-elmo`."""

from keras_elmo.cli import main

if __name__ == "__main__":
    main()
