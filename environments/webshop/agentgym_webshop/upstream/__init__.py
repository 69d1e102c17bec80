"""The original files of WebShop (Yao et al., 2022): products, instructions and goals."""
